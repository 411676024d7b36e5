import type pg from "pg";
import {
  beginOfRows,
  endOfTokens,
  leaveOut,
  nextFungible,
  type Statement,
  takeIn,
} from "../../schema/move-fungible.ts";
import { type RangeAllowance, rangeAllowance } from "../../schema/range-allowance.ts";
import { externalTriggers, lateRange, listLateRange, lockLedger } from "../../schema/range-later.ts";
import type { Chain } from "../chains.ts";
import type { Logger } from "../telemetry/log.ts";
import { inTransaction, publishNftViews } from "./nft-views.ts";

/** Tokens, or ledger rows, per transaction. It takes a second or so, in which Ponder cannot write to the ledger. */
const portion = 10_000;
/** Tries in a row that find Ponder writing. */
const mostTries = 1_000;
/** PostgreSQL's code for a lock that another session owns. */
const lockNotAvailable = "55P03";
export const fungibleFailed = "what is of ERC-20 could not be left out, or a contract not be taken in again";

interface Version {
  chainId: number;
  schema: string;
}

/**
 * Lists a withheld range, or leaves out or takes in part of a contract. Errors are only logged: the chain goes on.
 *
 * @returns whether there may be more to do.
 */
export async function changeLateOne(
  client: pg.Client,
  { chain, schema, log }: { chain: Chain; schema: string; log: Logger },
): Promise<boolean> {
  const version = { chainId: chain.id, schema };
  const failed = (what: string) => (error: unknown) => {
    log.error({ chain: chain.name, reason: String(error) }, what);
    return false;
  };
  const range = await listOneLateRange(client, version).catch(failed("a withheld range could not be listed"));
  const contract = await moveOneFungible(client, version)
    .then(async (outcome) => {
      if (outcome === "moved") await publishNftViews(client);
      return outcome !== "done";
    })
    .catch(failed(fungibleFailed));
  return range || contract;
}

/**
 * Lists the next withheld range (ERC-2309) whose contract has earned it or was allowed by an operator. A range has at
 * most 10,000 tokens, so Ponder cannot write to the ledger for a second or so; the caller pauses between two ranges.
 *
 * @returns whether there was one, so that there may be more.
 */
export async function listOneLateRange(
  client: pg.Client,
  { chainId, schema }: Version,
  allowance: RangeAllowance = rangeAllowance,
): Promise<boolean> {
  const { rows } = await client.query<{ block_number: string; log_index: number }>(lateRange(schema, allowance), [
    chainId,
  ]);
  const [row] = rows;
  if (!row) return false;
  const key = { blockNumber: BigInt(row.block_number), logIndex: row.log_index };
  try {
    await inTransaction(client, async () => {
      await client.query(lockLedger(schema));
      const triggers = await client.query<{ name: string }>(externalTriggers(schema));
      const names = triggers.rows.map(({ name }) => name);
      for (const statement of listLateRange(schema, key, names)) await client.query(statement);
      // A client requested metadata of the whole contract, but these tokens did not exist when the others were queued.
      await client.query(
        `UPDATE service.contract_metadata m SET queued_at = NULL FROM "${schema}".range_listing r
         WHERE m.chain_id = $1 AND m.address = r.contract AND m.demanded_at IS NOT NULL
           AND r.block_number = ${key.blockNumber} AND r.log_index = ${key.logIndex}`,
        [chainId],
      );
    });
  } catch (error) {
    // Ponder is writing. The range can be listed once it is done.
    if (!isLocked(error)) throw error;
  }
  return true;
}

/**
 * Applies `service.contract_metadata.fungible` to one portion of one contract: an ERC-20 whose logs look like ERC-721's
 * is hidden from readers, and one that turned out to be a collection is taken in again.
 *
 * @param schema a chain's schema that has its indexes for readers.
 * @returns `busy` when Ponder was writing: the portion is still to be done.
 */
export async function moveOneFungible(
  client: pg.Client,
  { chainId, schema }: Version,
  size = portion,
): Promise<"moved" | "busy" | "done"> {
  const next = await client.query<{ contract: Buffer; wanted: boolean; below: string }>(nextFungible(schema), [
    chainId,
  ]);
  const [row] = next.rows;
  if (!row) return "done";
  const run = ({ text, values }: Statement) => client.query<Record<string, string>>(text, [...values]);
  const { contract, wanted, below } = row;
  try {
    await inTransaction(client, async () => {
      await client.query(lockLedger(schema));
      const edge = wanted ? endOfTokens(schema, contract, below, size) : beginOfRows(schema, contract, below, size);
      const [found] = (await run(edge)).rows;
      const statements = wanted
        ? leaveOut(schema, { contract, low: below, high: found?.["end"] ?? "Infinity" })
        : takeIn(schema, { contract, low: found?.["begin"] ?? "0", high: below });
      for (const statement of statements) await run(statement);
      // These tokens were left out when all tokens of the contract were queued for their metadata.
      if (!wanted)
        await client.query(
          "UPDATE service.contract_metadata SET queued_at = NULL WHERE chain_id = $1 AND address = $2 AND demanded_at IS NOT NULL",
          [chainId, contract],
        );
    });
    return "moved";
  } catch (error) {
    if (isLocked(error)) return "busy";
    throw error;
  }
}

/**
 * Does the same for all known contracts before an index replaces another, so that both leave out the same.
 *
 * @param pause called between two portions. If Ponder never pauses, the rest is done later.
 */
export async function moveAllFungible(client: pg.Client, version: Version, pause: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < mostTries; ) {
    const outcome = await moveOneFungible(client, version);
    if (outcome === "done") return;
    tries = outcome === "busy" ? tries + 1 : 0;
    await pause();
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === lockNotAvailable;
}
