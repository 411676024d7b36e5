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

/** Tokens, or ledger rows, of one transaction: a second or so, in which the ledger is kept from Ponder. */
const portion = 10_000;
/** In a row, of tries that find Ponder writing. */
const mostTries = 1_000;
/** PostgreSQL's word for a lock that another session has. */
const lockNotAvailable = "55P03";
export const fungibleFailed = "what is of ERC-20 could not be left out, or a contract not be taken in again";

interface Version {
  chainId: number;
  schema: string;
}

/**
 * Changes what of a range or a contract is listed, where there is a reason. Whatever keeps it from that, the chain is followed on.
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
 * Lists the next withheld range (ERC-2309) whose contract has earned it or was let in by an operator. A range has 10,000
 * tokens at most, so the ledger is kept from Ponder for a second or so; the caller pauses between two.
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
      // All tokens of a contract that a reader asked for are read, and these were not there when they were queued.
      await client.query(
        `UPDATE service.contract_metadata m SET queued_at = NULL FROM "${schema}".range_listing r
         WHERE m.chain_id = $1 AND m.address = r.contract AND m.demanded_at IS NOT NULL
           AND r.block_number = ${key.blockNumber} AND r.log_index = ${key.logIndex}`,
        [chainId],
      );
    });
  } catch (error) {
    // Ponder is writing: the range is still there when it is done.
    if (!isLocked(error)) throw error;
  }
  return true;
}

/**
 * Brings one portion of one contract up to what the worker found out of it (`service.contract_metadata.fungible`): an ERC-20
 * whose logs are ERC-721's is left out of what readers see, and one that turned out to be a collection is taken in again.
 *
 * @param schema a chain's schema that has its indexes for readers.
 * @returns `busy` when Ponder was writing: the same is to be done still.
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
      // Tokens that were left out when all of a contract's were queued for their metadata.
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
 * The same for all that is known, before an index is shown in another's place: what is left out of that one is left out of this.
 *
 * @param pause between two portions. Where Ponder never pauses, the rest is left to later.
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
