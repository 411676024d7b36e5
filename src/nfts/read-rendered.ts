import { CompiledQuery } from "kysely";
import type { WireValue } from "../db/pipeline/wire.ts";
import { type RawRow, textRow } from "../db/pool/raw-row.ts";
import type { Services } from "../services.ts";
import { readHeavy } from "./read-for-each.ts";
import { type Stale, staleMark } from "./rendered.ts";

/*
 * Reads of rendered texts. Nearly all rows have theirs, and a statement that can also render costs PostgreSQL a tenth
 * more, so it runs only after one without rendering has met a row that this version has not rendered.
 */

/** A statement whose columns are all text. */
export interface RenderedRead {
  /** Its SQL. */
  text: (stale: Stale) => string;
  values: readonly unknown[];
  /** See `readHeavy`. */
  heavy?: boolean;
  /** Unlikely to be repeated, so it is not prepared. */
  once?: boolean;
}

const staleByte = staleMark.charCodeAt(0);
/** After a row rendered by another version more of them are likely, so for this long all statements render. */
const cautiousMs = 1_000;
let cautiousUntil = Number.NEGATIVE_INFINITY;

function likely(): Stale {
  return performance.now() < cautiousUntil ? "render" : "tell";
}

/** Whether the statement has to run again with rendering; its rows are released then. */
function isStale(rows: readonly (RawRow | null)[]): boolean {
  if (!rows.some((row) => row?.includes(staleByte))) return false;
  for (const row of rows) row?.release();
  cautiousUntil = performance.now() + cautiousMs;
  return true;
}

/** Runs over a pipelined connection. @returns the first row, or null. */
export async function readRow(services: Services, read: RenderedRead): Promise<RawRow | null> {
  const { text, heavy, once } = read;
  const values = read.values as readonly WireValue[];
  const run = (stale: Stale) =>
    heavy ? services.index.pool.heavyFirst(text(stale), values) : services.reads.first(text(stale), values, once);
  const stale = likely();
  const row = await run(stale);
  return stale === "tell" && isStale([row]) ? await run("render") : row;
}

/** Reads all rows. @param columns their names, in the statement's order. */
export async function readRows(
  services: Services,
  { text, values, heavy }: RenderedRead,
  columns: readonly string[],
): Promise<RawRow[]> {
  const run = async (stale: Stale) => {
    const query = CompiledQuery.raw(text(stale), [...values]) as CompiledQuery<Record<string, string | null>>;
    const rows = heavy
      ? await readHeavy(services, { compile: () => query }, "read")
      : (await services.index.db.executeQuery(query)).rows;
    return rows.map((row) => textRow(columns.map((name) => row[name] ?? null)));
  };
  const stale = likely();
  const rows = await run(stale);
  return stale === "tell" && isStale(rows) ? await run("render") : rows;
}
