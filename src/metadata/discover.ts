import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";
import { noteAnnouncements } from "./announcements.ts";

/**
 * Blocks that are looked at again on every pass. A reorg puts tokens and announcements into blocks
 * that were already read; deeper ones are left to the sweep.
 */
const overlapBlocks = 256n;
/** Rows per statement, far below the statement time-out. */
const portion = 10_000;

/** How far the index has come; null while it has nothing of this chain. */
export async function readIndexHead(db: Kysely<Database>, chainId: number): Promise<bigint | null> {
  const row = await db
    .selectFrom("nft.heads")
    .select("block_number")
    .where("chain_id", "=", chainId)
    .executeTakeFirst();
  return row?.block_number ?? null;
}

/**
 * Makes a row for every token and contract that is new, and notes what contracts announced as
 * changed, up to a block of the index.
 *
 * @returns whether a token was queued.
 */
export async function discover(db: Kysely<Database>, chainId: number, head: bigint): Promise<boolean> {
  await db
    .insertInto("service.metadata_cursor")
    .values({ chain_id: chainId, swept_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const cursor = await db
    .selectFrom("service.metadata_cursor")
    .selectAll()
    .where("chain_id", "=", chainId)
    .executeTakeFirstOrThrow();
  if (cursor.mint_block > head + overlapBlocks) await forgetBeyond(db, chainId, head);
  const minted = await inPortions(() => queueMinted(db, chainId, back(cursor.mint_block)));
  await queueLaunched(db, chainId, back(cursor.mint_block));
  await noteAnnouncements(db, chainId, back(cursor.update_block));
  // The head is taken as it was before the look-out: rows that came meanwhile are seen next time.
  // It may go back: another deployment of the index, or a local chain that began anew.
  await db
    .updateTable("service.metadata_cursor")
    .set({ mint_block: head, update_block: head })
    .where("chain_id", "=", chainId)
    .execute();
  return minted > 0;
}

/** Finds what the look-out by blocks cannot: tokens minted before the first indexed block, and whatever it missed. */
export async function sweep(db: Kysely<Database>, chainId: number): Promise<void> {
  await inPortions(() => queueMinted(db, chainId, null));
  await queueLaunched(db, chainId, 0n);
  await sql`
    INSERT INTO service.contract_metadata (chain_id, address)
    SELECT c.chain_id, c.address FROM nft.contracts c
    WHERE c.chain_id = ${chainId}
      AND NOT EXISTS (SELECT FROM service.contract_metadata m WHERE m.chain_id = ${chainId} AND m.address = c.address)
    ON CONFLICT DO NOTHING`.execute(db);
  await db
    .updateTable("service.metadata_cursor")
    .set({ swept_at: sql<Date>`clock_timestamp()` })
    .where("chain_id", "=", chainId)
    .execute();
}

/** Marks the tokens of contracts that a client wants read again. */
export async function applyRefreshes(db: Kysely<Database>, chainId: number): Promise<void> {
  const wishes = await db
    .selectFrom("service.contract_metadata")
    .select("address")
    .where("chain_id", "=", chainId)
    .where("refresh_requested_at", "is not", null)
    .where("refresh_applied_at", "is", null)
    .execute();
  for (const { address } of wishes) {
    await inPortions(() => queueContract(db, chainId, address));
    await db
      .updateTable("service.contract_metadata")
      .set({ refresh_applied_at: sql<Date>`clock_timestamp()` })
      .where("chain_id", "=", chainId)
      .where("address", "=", address)
      .execute();
  }
}

async function queueMinted(db: Kysely<Database>, chainId: number, from: bigint | null): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`
    WITH fresh AS (
      INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
      SELECT t.chain_id, t.contract, t.token_id,
        CASE WHEN t.mint_timestamp > extract(epoch from clock_timestamp()) - 86400 THEN 1 ELSE 3 END
      FROM nft.tokens t
      WHERE t.chain_id = ${chainId} AND t.supply > 0 ${from === null ? sql`` : sql`AND t.mint_block >= ${from}`}
        AND NOT EXISTS (SELECT FROM service.token_metadata m
          WHERE m.chain_id = ${chainId} AND m.contract = t.contract AND m.token_id = t.token_id)
      LIMIT ${portion}
      ON CONFLICT DO NOTHING
      RETURNING contract
    ), contracts AS (
      INSERT INTO service.contract_metadata (chain_id, address)
      SELECT DISTINCT ${chainId}::integer, contract FROM fresh
      ON CONFLICT DO NOTHING
    )
    SELECT count(*) FROM fresh`.execute(db);
  return rows[0]?.count ?? 0n;
}

/** Collections that our factory made have a name before they have a token. */
async function queueLaunched(db: Kysely<Database>, chainId: number, from: bigint): Promise<void> {
  await sql`
    INSERT INTO service.contract_metadata (chain_id, address)
    SELECT l.chain_id, l.address FROM nft.collections l
    WHERE l.chain_id = ${chainId} AND l.block_number >= ${from}
      AND NOT EXISTS (SELECT FROM service.contract_metadata m WHERE m.chain_id = ${chainId} AND m.address = l.address)
    ON CONFLICT DO NOTHING`.execute(db);
}

async function queueContract(db: Kysely<Database>, chainId: number, address: Buffer): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`
    WITH stale AS (
      SELECT m.contract, m.token_id
      FROM service.contract_metadata c JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = c.address
      WHERE c.chain_id = ${chainId} AND c.address = ${address}
        AND m.status <> 'pending' AND coalesce(m.attempted_at < c.refresh_requested_at, true)
      LIMIT ${portion}
    ), marked AS (
      UPDATE service.token_metadata m SET status = 'pending', priority = 2, next_attempt_at = clock_timestamp()
      FROM stale
      WHERE m.chain_id = ${chainId} AND m.contract = stale.contract AND m.token_id = stale.token_id
      RETURNING 1
    )
    SELECT count(*) FROM marked`.execute(db);
  return rows[0]?.count ?? 0n;
}

/** Rows of blocks that no longer exist: what they say is another chain's. */
async function forgetBeyond(db: Kysely<Database>, chainId: number, head: bigint): Promise<void> {
  for (const table of ["token_metadata", "contract_metadata"]) {
    await sql`
      UPDATE ${sql.id("service", table)} SET fetched_block = NULL, status = 'pending', next_attempt_at = clock_timestamp()
      WHERE chain_id = ${chainId} AND fetched_block > ${head}`.execute(db);
  }
}

async function inPortions(work: () => Promise<bigint>): Promise<number> {
  let all = 0;
  for (;;) {
    const done = Number(await work());
    all += done;
    if (done < portion) return all;
  }
}

function back(block: bigint): bigint {
  return block > overlapBlocks ? block - overlapBlocks : 0n;
}
