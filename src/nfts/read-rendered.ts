import type { RawRow } from "../db/pool/raw-row.ts";
import { type Stale, staleMark } from "./rendered.ts";

const staleByte = staleMark.charCodeAt(0);
/** After a row that another version rendered, more of them are likely: for so long all statements render. */
const cautiousMs = 1_000;
let cautiousUntil = Number.NEGATIVE_INFINITY;

/**
 * Runs a read of rendered texts. Almost always each of them is kept, and a statement that could render one costs PostgreSQL
 * a tenth more; so such a statement runs only where one without it has met a row that this version has not rendered.
 *
 * @param read runs the statement.
 */
export async function readRendered(read: (stale: Stale) => Promise<(RawRow | null)[]>): Promise<(RawRow | null)[]> {
  if (performance.now() < cautiousUntil) return await read("render");
  const rows = await read("tell");
  if (!rows.some((row) => row?.includes(staleByte))) return rows;
  for (const row of rows) row?.release();
  cautiousUntil = performance.now() + cautiousMs;
  return await read("render");
}
