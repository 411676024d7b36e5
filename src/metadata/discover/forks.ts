import { type Kysely, sql } from "kysely";
import type { Hex, PublicClient } from "viem";
import { toBytes, toHex } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { PinnedBlock } from "../read/call-contract.ts";

/** More than pass while any token is read, and deeper than chains reorganise. */
const keptBlocks = 2_048n;
const deepest = 256;

/** Records a block before the first URI is read at it. */
export async function recordReadBlock(db: Kysely<Database>, chainId: number, block: PinnedBlock): Promise<void> {
  await sql`
    INSERT INTO service.metadata_read_block (chain_id, number, hash)
    VALUES (${chainId}, ${block.number}, ${toBytes(block.hash)}) ON CONFLICT DO NOTHING`.execute(db);
  await sql`
    DELETE FROM service.metadata_read_block
    WHERE chain_id = ${chainId} AND number < ${block.number - keptBlocks}`.execute(db);
}

/**
 * Compares the blocks at which URIs were read with the chain, newest first, down to one that is still canonical.
 * Readings at higher blocks came from a dead branch, and are repeated, even if the canonical branch announced its
 * change at a lower block.
 *
 * @returns whether there was a reorganisation.
 */
export async function dropDeadBranch(
  db: Kysely<Database>,
  client: PublicClient,
  chainId: number,
  head: PinnedBlock,
): Promise<boolean> {
  // Blocks above the head prove nothing: a node behind its siblings does not have them yet.
  const { rows } = await sql<{ number: bigint; hash: Buffer }>`
    SELECT number, hash FROM service.metadata_read_block
    WHERE chain_id = ${chainId} AND number <= ${head.number}
    ORDER BY number DESC LIMIT ${deepest}`.execute(db);
  const dead: { number: bigint; hash: Buffer }[] = [];
  let confirmed: bigint | null = null;
  for (const row of rows) {
    if (toHex(row.hash) === (await hashAt(client, row.number, head))) {
      confirmed = row.number;
      break;
    }
    dead.push(row);
  }
  const newest = dead[0]?.number;
  const oldest = dead.at(-1)?.number;
  if (newest === undefined || oldest === undefined) return false;
  const above = confirmed === null || confirmed >= oldest ? oldest - 1n : confirmed;
  // The block's row is deleted first: a reading that ends later sees that it is gone, see `finishToken`.
  for (const { number, hash } of dead)
    await sql`
      DELETE FROM service.metadata_read_block
      WHERE chain_id = ${chainId} AND number = ${number} AND hash = ${hash}`.execute(db);
  await sql`
    UPDATE service.token_metadata SET fetched_block = NULL, status = 'pending', priority = least(priority, 2),
      attempts = 0,
      next_attempt_at = CASE WHEN lease_until > clock_timestamp() THEN next_attempt_at ELSE clock_timestamp() END
    WHERE chain_id = ${chainId} AND fetched_block > ${above} AND fetched_block <= ${newest}`.execute(db);
  await sql`
    UPDATE service.contract_metadata SET fetched_block = NULL, next_attempt_at = clock_timestamp()
    WHERE chain_id = ${chainId} AND fetched_block > ${above} AND fetched_block <= ${newest}`.execute(db);
  return true;
}

async function hashAt(client: PublicClient, number: bigint, head: PinnedBlock): Promise<Hex | null> {
  if (number === head.number) return head.hash;
  return (await client.getBlock({ blockNumber: number })).hash;
}
