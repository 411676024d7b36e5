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

/** Whatever answers a statement: a pool, or the servers of `ReadPool`. */
export interface Reader {
  query<R extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<R>>;
}

/** Runs a read as a prepared statement: parsed and planned once per connection. */
export async function readPrepared<R extends pg.QueryResultRow>(
  pool: Reader,
  text: string,
  values: readonly unknown[],
): Promise<R[]> {
  const name = statementName(text);
  const { rows } = await pool.query<R>({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  return rows;
}

const maxTexts = 2_000;
const texts = new Map<string, string>();
const numbers = new WeakMap<object, number>();
let numbered = 0;

/**
 * A statement's text, written once: putting a long text together costs more than running some of them.
 *
 * @param variant and `parts`, objects that stay the same from call to call: all that the text depends on.
 */
export function knownText(variant: string, parts: readonly (object | undefined)[], write: () => string): string {
  let key = variant;
  for (const part of parts) key += `|${part === undefined ? "" : numberOf(part)}`;
  const known = texts.get(key);
  if (known !== undefined) return known;
  if (texts.size >= maxTexts) texts.clear();
  const text = write();
  texts.set(key, text);
  return text;
}

function numberOf(part: object): number {
  const known = numbers.get(part);
  if (known !== undefined) return known;
  numbered += 1;
  numbers.set(part, numbered);
  return numbered;
}
