import { createHash } from "node:crypto";
import type pg from "pg";

/** Each connection keeps a plan per name: few texts are read all the time, the rest go unnamed. */
const maxNames = 300;
const names = new Map<string, string>();

/** The name under which a statement is prepared, once per connection; undefined when there are too many already. */
export function statementName(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= maxNames) return known;
  const name = `m${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
  names.set(text, name);
  return name;
}

/** Runs a read as a prepared statement: parsed and planned once per connection. */
export async function readPrepared<R extends pg.QueryResultRow>(
  pool: pg.Pool,
  text: string,
  values: readonly unknown[],
): Promise<R[]> {
  const name = statementName(text);
  const { rows } = await pool.query<R>({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  return rows;
}
