import { CompiledQuery } from "kysely";
import type { WireValue } from "../db/pipeline/wire.ts";
import { type RawRow, textRow } from "../db/pool/raw-row.ts";
import type { Services } from "../services.ts";
import { readHeavy } from "./read-for-each.ts";
import { type Stale, staleMark } from "./rendered.ts";

/*
 * Reads of rendered texts. Almost always each of them is kept, and a statement that could render one costs PostgreSQL a tenth
 * more; so such a statement runs only where one without it has met a row that this version has not rendered.
 */

/** A statement of which all columns are texts. */
export interface RenderedRead {
  /** Its text. */
  text: (stale: Stale) => string;
  values: readonly unknown[];
  /** See `readHeavy`. */
  heavy?: boolean;
  /** The text will hardly come again. */
  once?: boolean;
}

const staleByte = staleMark.charCodeAt(0);
/** After a row that another version rendered, more of them are likely: for so long all statements render. */
const cautiousMs = 1_000;
let cautiousUntil = Number.NEGATIVE_INFINITY;

function likely(): Stale {
  return performance.now() < cautiousUntil ? "render" : "tell";
}

/** Whether the statement has to run again, and render; what it gave is given back then. */
function isStale(rows: readonly (RawRow | null)[]): boolean {
  if (!rows.some((row) => row?.includes(staleByte))) return false;
  for (const row of rows) row?.release();
  cautiousUntil = performance.now() + cautiousMs;
  return true;
}

/** Over a pipelined connection: the first row, null without one. */
export async function readRow(services: Services, read: RenderedRead): Promise<RawRow | null> {
  const { text, heavy, once } = read;
  const values = read.values as readonly WireValue[];
  const run = (stale: Stale) =>
    heavy ? services.index.pool.heavyFirst(text(stale), values) : services.reads.first(text(stale), values, once);
  const stale = likely();
  const row = await run(stale);
  return stale === "tell" && isStale([row]) ? await run("render") : row;
}

/** All rows. @param columns their names, in the statement's order. */
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
