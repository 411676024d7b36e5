import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/database.ts";
import { queueContractUpdates, recordAnnouncements } from "./announcements.ts";
import { isFungible, recordContracts } from "./apply-demand.ts";

/**
 * Blocks that every pass reads again. A reorg puts tokens and announcements into blocks that were already read; deeper
 * reorgs are left to the sweep.
 */
const overlapBlocks = 256n;
/** Rows per statement, well within the statement timeout. */
const portion = 10_000;

const nobody = Buffer.alloc(20);

/** The most tokens, moved ones included, that are queued of a contract that no client requested. */
const movedTokens = 1_000;

/** The index's newest block of a chain; null while it has none. */
export async function readIndexHead(db: Kysely<Database>, chainId: number): Promise<bigint | null> {
  const row = await db
    .selectFrom("nft.heads")
    .select("block_number")
    .where("chain_id", "=", chainId)
    .executeTakeFirst();
  return row?.block_number ?? null;
}

/**
 * Queues new tokens that are to be read (see `queueMinted`) and tokens that were minted again, and records announced
 * changes, up to a block of the index.
 *
 * @param firstTokens tokens read of a contract that no client requested.
 * @param refreshWindowSeconds seconds between two readings of a third party's contract because of its announcements.
 * @returns whether a token was queued.
 */
export async function discover(
  db: Kysely<Database>,
  chainId: number,
  head: bigint,
  { firstTokens, refreshWindowSeconds }: Pick<Config["metadata"], "firstTokens" | "refreshWindowSeconds">,
): Promise<boolean> {
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
  const minted = await inPortions(() => queueMinted(db, chainId, back(cursor.mint_block), firstTokens));
  const reborn = await inPortions(() => queueReborn(db, chainId, back(cursor.mint_block)));
  await queueMoved(db, chainId, back(cursor.mint_block));
  await queueLaunched(db, chainId, back(cursor.mint_block));
  await recordAnnouncements(db, chainId, back(cursor.update_block));
  await queueContractUpdates(db, chainId, back(cursor.update_block), refreshWindowSeconds);
  // The head from before this pass: the next pass sees rows that came meanwhile. It may go back, with another version
  // of the index or a reset local chain.
  await db
    .updateTable("service.metadata_cursor")
    .set({ mint_block: head, update_block: head })
    .where("chain_id", "=", chainId)
    .execute();
  return minted + reborn > 0;
}

/** Queues what passes by blocks cannot see: tokens minted before the first indexed block, and any that were missed. */
export async function sweep(db: Kysely<Database>, chainId: number, firstTokens: number): Promise<void> {
  await inPortions(() => queueMinted(db, chainId, null, firstTokens));
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

/** Queues the tokens of contracts for which a client requested a refresh. */
export async function applyRefreshes(db: Kysely<Database>, chainId: number): Promise<void> {
  const requests = await db
    .selectFrom("service.contract_metadata")
    .select("address")
    .where("chain_id", "=", chainId)
    .where("refresh_requested_at", "is not", null)
    .where("refresh_applied_at", "is", null)
    .execute();
  await recordContracts(
    db,
    chainId,
    requests.map(({ address }) => address),
  );
  for (const { address } of requests) {
    await inPortions(() => queueContract(db, chainId, address));
    await db
      .updateTable("service.contract_metadata")
      .set({ refresh_applied_at: sql<Date>`clock_timestamp()` })
      .where("chain_id", "=", chainId)
      .where("address", "=", address)
      .execute();
  }
}

/**
 * Queues new tokens: all of this installation's collections and of requested ones; of any other contract until it has
 * `firstTokens` in the queue, so that a flood of unrequested tokens costs no rows.
 *
 * @param from null: all tokens, contract by contract.
 */
async function queueMinted(
  db: Kysely<Database>,
  chainId: number,
  from: bigint | null,
  firstTokens: number,
): Promise<bigint> {
  const isNew = sql`NOT EXISTS (SELECT FROM service.token_metadata m
    WHERE m.chain_id = ${chainId} AND m.contract = t.contract AND m.token_id = t.token_id)`;
  const room = (contract: RawBuilder<unknown>) => sql`(SELECT
      CASE WHEN ${isFungible(chainId, contract)} THEN 0 WHEN EXISTS (SELECT FROM nft.collections o WHERE o.chain_id = ${chainId} AND o.address = ${contract})
        OR EXISTS (SELECT FROM service.self_deployment d WHERE d.chain_id = ${chainId} AND d.address = ${contract})
        OR EXISTS (SELECT FROM service.contract_metadata l
          WHERE l.chain_id = ${chainId} AND l.address = ${contract} AND l.demanded_at IS NOT NULL)
      THEN ${portion}
      ELSE ${firstTokens} - (SELECT count(*) FROM (SELECT FROM service.token_metadata q
        WHERE q.chain_id = ${chainId} AND q.contract = ${contract} LIMIT ${firstTokens}) x) END AS room)`;
  const found =
    from === null
      ? sql`SELECT t.contract, t.token_id, t.mint_timestamp FROM nft.contracts c
          CROSS JOIN LATERAL ${room(sql`c.address`)} r
          CROSS JOIN LATERAL (SELECT t.contract, t.token_id, t.mint_timestamp FROM nft.tokens t
            WHERE t.chain_id = ${chainId} AND t.contract = c.address AND t.supply > 0 AND ${isNew}
            ORDER BY t.token_id LIMIT r.room) t
          WHERE c.chain_id = ${chainId} AND c.token_count > 0 AND r.room > 0`
      : sql`SELECT f.contract, f.token_id, f.mint_timestamp FROM (
            SELECT t.*, row_number() OVER (PARTITION BY contract ORDER BY token_id) AS position FROM (
              SELECT t.contract, t.token_id, t.mint_timestamp FROM nft.tokens t
              WHERE t.chain_id = ${chainId} AND t.supply > 0 AND t.mint_block >= ${from} AND ${isNew}) t) f
          JOIN (SELECT k.contract, r.room FROM (SELECT DISTINCT contract FROM nft.tokens
              WHERE chain_id = ${chainId} AND mint_block >= ${from}) k
            CROSS JOIN LATERAL ${room(sql`k.contract`)} r) r ON r.contract = f.contract AND f.position <= r.room`;
  const { rows } = await sql<{ count: bigint }>`
    WITH fresh AS (
      INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
      SELECT ${chainId}::integer, t.contract, t.token_id,
        CASE WHEN t.mint_timestamp > extract(epoch from clock_timestamp()) - 86400 THEN 1 ELSE 3 END
      FROM (${found}) t
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

/** Queues tokens that moved between holders by a log of their own, up to `movedTokens` of an unrequested contract. */
async function queueMoved(db: Kysely<Database>, chainId: number, from: bigint): Promise<void> {
  await sql`
    INSERT INTO service.token_metadata (chain_id, contract, token_id, priority)
    SELECT ${chainId}::integer, f.contract, f.token_id, 1 FROM (
      SELECT x.*, row_number() OVER (PARTITION BY contract ORDER BY token_id) AS position FROM (
        SELECT DISTINCT x.contract, x.token_id FROM nft.transfers x
        WHERE x.chain_id = ${chainId} AND x.block_number >= ${from} AND x.batch_index = 0
          AND x.from_address <> ${nobody} AND x.to_address <> ${nobody} AND NOT EXISTS (
            SELECT FROM service.token_metadata m
            WHERE m.chain_id = ${chainId} AND m.contract = x.contract AND m.token_id = x.token_id)) x) f
    CROSS JOIN LATERAL (SELECT count(*) AS queued FROM (SELECT FROM service.token_metadata q
      WHERE q.chain_id = ${chainId} AND q.contract = f.contract LIMIT ${movedTokens}) q) q
    WHERE f.position <= ${movedTokens} - q.queued AND NOT ${isFungible(chainId, sql`f.contract`)}
    LIMIT ${portion}
    ON CONFLICT DO NOTHING`.execute(db);
}

/** Collections of our factory have a name before they have a token. */
async function queueLaunched(db: Kysely<Database>, chainId: number, from: bigint): Promise<void> {
  await sql`
    INSERT INTO service.contract_metadata (chain_id, address)
    SELECT l.chain_id, l.address FROM nft.collections l
    WHERE l.chain_id = ${chainId} AND l.block_number >= ${from}
      AND NOT EXISTS (SELECT FROM service.contract_metadata m WHERE m.chain_id = ${chainId} AND m.address = l.address)
    ON CONFLICT DO NOTHING`.execute(db);
}

async function queueContract(db: Kysely<Database>, chainId: number, address: Buffer): Promise<bigint> {
  const { numAffectedRows } = await sql`
    WITH stale AS (
      SELECT m.contract, m.token_id
      FROM service.contract_metadata c JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = c.address
      WHERE c.chain_id = ${chainId} AND c.address = ${address}
        AND m.status <> 'pending' AND coalesce(m.attempted_at < c.refresh_requested_at, true)
      LIMIT ${portion}
    )
    UPDATE service.token_metadata m SET status = 'pending', priority = 2, next_attempt_at = clock_timestamp()
    FROM stale
    WHERE m.chain_id = ${chainId} AND m.contract = stale.contract AND m.token_id = stale.token_id`.execute(db);
  return numAffectedRows ?? 0n;
}

/** Deletes rows of blocks above the index's head: they are from another chain. */
async function forgetBeyond(db: Kysely<Database>, chainId: number, head: bigint): Promise<void> {
  for (const table of ["token_metadata", "contract_metadata"]) {
    await sql`
      UPDATE ${sql.id("service", table)} SET fetched_block = NULL, wanted_block = NULL, status = 'pending',
        next_attempt_at = clock_timestamp()
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

/**
 * Queues tokens that were minted again after they were burned, from a block on. The document read before is of the
 * burned token, and ERC-4906 requires no event for a mint. Of ERC-1155 these are mints of an id without an owner. The
 * row loses its URI; such a document is only shown until the token has been tried again (`finishToken`).
 *
 * @returns how many were queued; exactly `portion` when there are more.
 */
async function queueReborn(db: Kysely<Database>, chainId: number, from: bigint): Promise<bigint> {
  const { numAffectedRows } = await sql`
    WITH minted AS MATERIALIZED (
      SELECT x.contract, x.token_id, x.standard, max(x.block_number) AS block, min(t.supply) AS supply
      FROM nft.transfers x
      JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = x.contract AND m.token_id = x.token_id
      JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = x.contract AND t.token_id = x.token_id
      WHERE x.chain_id = ${chainId} AND x.block_number >= ${from} AND x.from_address = ${nobody}
        AND x.to_address <> ${nobody} AND x.amount > 0
        -- A first mint is read at its block or later.
        AND coalesce(m.fetched_block < x.block_number, m.lease_until IS NOT NULL AND x.block_number > t.mint_block)
        AND coalesce(m.wanted_block < x.block_number, true)
      GROUP BY x.contract, x.token_id, x.standard
    ), moved AS (
      SELECT n.contract, n.token_id, x.block_number, x.from_address = ${nobody} AS mint,
        -- What there was before this log: what there is now, without it and all later ones.
        n.supply - sum(CASE WHEN x.from_address = ${nobody} THEN x.amount ELSE -x.amount END)
          OVER (PARTITION BY n.contract, n.token_id ORDER BY x.block_number DESC, x.log_index DESC, x.batch_index DESC) AS before
      FROM minted n JOIN nft.transfers x ON x.chain_id = ${chainId} AND x.contract = n.contract
        AND x.token_id = n.token_id AND x.standard = n.standard AND x.block_number >= ${from} AND x.amount > 0
        AND (x.from_address = ${nobody}) <> (x.to_address = ${nobody})
      WHERE n.standard = 'ERC1155'
    ), reborn AS (
      SELECT contract, token_id, block FROM minted WHERE standard = 'ERC721'
      UNION ALL
      SELECT contract, token_id, max(block_number) FROM moved WHERE mint AND before <= 0 GROUP BY contract, token_id
    )
    UPDATE service.token_metadata m SET wanted_block = r.block, status = 'pending', priority = least(m.priority, 1),
      attempts = 0, token_uri = NULL,
      next_attempt_at = CASE WHEN m.lease_until > clock_timestamp() THEN m.next_attempt_at ELSE clock_timestamp() END
    FROM (SELECT * FROM reborn LIMIT ${portion}) r
    WHERE m.chain_id = ${chainId} AND m.contract = r.contract AND m.token_id = r.token_id
      AND coalesce(m.fetched_block < r.block, true) AND coalesce(m.wanted_block < r.block, true)`.execute(db);
  return numAffectedRows ?? 0n;
}
