import type pg from "pg";
import {
  beginOfRows,
  endOfTokens,
  leaveOut,
  nextFungible,
  type Statement,
  takeIn,
} from "../../schema/move-fungible.ts";
import { lockLedger } from "../../schema/range-later.ts";

/** Tokens, or ledger rows, of one transaction: a second or so, in which the ledger is kept from Ponder. */
const portion = 10_000;
/** In a row, of tries that find Ponder writing. */
const mostTries = 1_000;
/** PostgreSQL's word for a lock that another session has. */
const lockNotAvailable = "55P03";

/**
 * Brings one portion of one contract up to what the worker found out of it (`service.contract_metadata.fungible`): an ERC-20
 * whose logs are ERC-721's is left out of what readers see, and one that turned out to be a collection is taken in again.
 *
 * @param schema a chain's schema that has its indexes for readers.
 * @returns `busy` when Ponder was writing: the same is to be done still.
 */
export async function moveOneFungible(
  client: pg.Client,
  { chainId, schema }: { chainId: number; schema: string },
  size = portion,
): Promise<"moved" | "busy" | "done"> {
  const next = await client.query<{ contract: Buffer; wanted: boolean; below: string }>(nextFungible(schema), [
    chainId,
  ]);
  const [row] = next.rows;
  if (!row) return "done";
  const run = ({ text, values }: Statement) => client.query<Record<string, string>>(text, [...values]);
  const { contract, wanted, below } = row;
  await client.query("BEGIN");
  try {
    await client.query(lockLedger(schema));
    const edge = wanted ? endOfTokens(schema, contract, below, size) : beginOfRows(schema, contract, below, size);
    const [found] = (await run(edge)).rows;
    const statements = wanted
      ? leaveOut(schema, { contract, low: below, high: found?.["end"] ?? "Infinity" })
      : takeIn(schema, { contract, low: found?.["begin"] ?? "0", high: below });
    for (const statement of statements) await run(statement);
    // Tokens that were left out when all of a contract's were queued for their metadata.
    if (!wanted)
      await client.query(
        "UPDATE service.contract_metadata SET queued_at = NULL WHERE chain_id = $1 AND address = $2 AND demanded_at IS NOT NULL",
        [chainId, contract],
      );
    await client.query("COMMIT");
    return "moved";
  } catch (error) {
    await client.query("ROLLBACK");
    if (error instanceof Error && "code" in error && error.code === lockNotAvailable) return "busy";
    throw error;
  }
}

/**
 * The same for all that is known, before an index is shown in another's place: what is left out of that one is left out of this.
 *
 * @param pause between two portions. Where Ponder never pauses, the rest is left to later.
 */
export async function moveAllFungible(
  client: pg.Client,
  version: { chainId: number; schema: string },
  pause: () => Promise<void>,
): Promise<void> {
  for (let tries = 0; tries < mostTries; ) {
    const outcome = await moveOneFungible(client, version);
    if (outcome === "done") return;
    tries = outcome === "busy" ? tries + 1 : 0;
    await pause();
  }
}
