import { CompiledQuery } from "kysely";
import type { WireValue } from "../db/pipeline/wire.ts";
import { type RawRow, textRow } from "../db/pool/raw-row.ts";
import type { Services } from "../services.ts";
import { readHeavy } from "./heavy-read.ts";

/**
 * Runs a statement whose columns are texts.
 *
 * @param run `pipelined`: over a pipelined connection, which gives one row at most.
 * @param columns their names, in the statement's order.
 * @param options `heavy`: see `readHeavy`; `once`: the text will hardly come again.
 */
export async function runRead(
  services: Services,
  text: string,
  parameters: readonly unknown[],
  run: "pipelined" | "pool",
  columns: readonly string[],
  { heavy = false, once = false }: { heavy?: boolean; once?: boolean } = {},
): Promise<(RawRow | null)[]> {
  if (run === "pipelined") {
    const values = parameters as WireValue[];
    return [await (heavy ? services.index.pool.heavyFirst(text, values) : services.reads.first(text, values, once))];
  }
  const query = CompiledQuery.raw(text, [...parameters]) as CompiledQuery<Record<string, string | null>>;
  const rows = heavy
    ? await readHeavy(services, { compile: () => query }, "read")
    : (await services.index.db.executeQuery(query)).rows;
  return rows.map((row) => textRow(columns.map((name) => row[name] ?? null)));
}
