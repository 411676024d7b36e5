import type pg from "pg";
import { type RangeAllowance, rangeAllowance } from "../../schema/range-allowance.ts";
import { externalTriggers, lateRange, listLateRange, lockLedger, type RangeKey } from "../../schema/range-later.ts";

function queueAgain(schema: string, { blockNumber, logIndex }: RangeKey): string {
  return `UPDATE service.contract_metadata m SET queued_at = NULL FROM "${schema}".range_listing r
    WHERE m.chain_id = $1 AND m.address = r.contract AND m.demanded_at IS NOT NULL
      AND r.block_number = ${blockNumber} AND r.log_index = ${logIndex}`;
}

/** PostgreSQL's word for a lock that another session has. */
const lockNotAvailable = "55P03";

/**
 * Lists the next withheld range (ERC-2309) whose contract has earned it or was let in by an operator. A range has 10,000
 * tokens at most, so the ledger is kept from Ponder for a second or so; the caller pauses between two.
 *
 * @returns whether there was one, so that there may be more.
 */
export async function listOneLateRange(
  client: pg.Client,
  { chainId, schema }: { chainId: number; schema: string },
  allowance: RangeAllowance = rangeAllowance,
): Promise<boolean> {
  const { rows } = await client.query<{ block_number: string; log_index: number }>(lateRange(schema, allowance), [
    chainId,
  ]);
  const [row] = rows;
  if (!row) return false;
  const key = { blockNumber: BigInt(row.block_number), logIndex: row.log_index };
  await client.query("BEGIN");
  try {
    await client.query(lockLedger(schema));
    const triggers = await client.query<{ name: string }>(externalTriggers(schema));
    const names = triggers.rows.map(({ name }) => name);
    for (const statement of listLateRange(schema, key, names)) await client.query(statement);
    // All tokens of a contract that a reader asked for are read, and these were not there when they were queued.
    await client.query(queueAgain(schema, key), [chainId]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    // Ponder is writing: the range is still there when it is done.
    if (!(error instanceof Error && "code" in error && error.code === lockNotAvailable)) throw error;
  }
  return true;
}
