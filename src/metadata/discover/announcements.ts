import { type Kysely, sql } from "kysely";
import type { Database } from "../../db/database.ts";

/** If one contract announces more ranges than this in one pass, they are replaced by the one range that covers them. */
const rangesPerContract = 32;
/** Rows per statement, well within the statement timeout. */
const portion = 10_000;
/** Announcements that are further behind cannot be read again by overlapping passes. */
const keptBlocks = 2_048n;

/**
 * Records ERC-4906 and ERC-1155 URI events from a block on. Recording an event again changes nothing; contracts without
 * a token are ignored.
 */
export async function recordAnnouncements(db: Kysely<Database>, chainId: number, from: bigint): Promise<void> {
  await sql`
    WITH announced AS (
      SELECT u.contract, u.from_token_id AS low, u.to_token_id AS high, max(u.block_number) AS block,
        count(*) OVER (PARTITION BY u.contract) AS ranges
      FROM nft.metadata_updates u
      WHERE u.chain_id = ${chainId} AND u.block_number >= ${from}
      GROUP BY u.contract, u.from_token_id, u.to_token_id
    ), merged AS (
      SELECT contract, low, high, block FROM announced WHERE ranges <= ${rangesPerContract}
      UNION ALL
      SELECT contract, min(low), max(high), max(block) FROM announced WHERE ranges > ${rangesPerContract} GROUP BY contract
    )
    INSERT INTO service.metadata_announcement AS a (chain_id, contract, from_token_id, to_token_id, block)
    SELECT ${chainId}, m.contract, m.low, m.high, m.block FROM merged m
    WHERE EXISTS (SELECT FROM service.token_metadata t WHERE t.chain_id = ${chainId} AND t.contract = m.contract)
    ON CONFLICT (chain_id, contract, from_token_id, to_token_id)
      DO UPDATE SET block = excluded.block WHERE a.block < excluded.block`.execute(db);
}

/**
 * Queues contracts that announced a change of their own metadata (ERC-7572), from a block on: collections of our
 * factory at once, a third party's contract once in `windowSeconds`, however often it announces. Contracts without a
 * record are new, and read anyway.
 */
export async function queueContractUpdates(
  db: Kysely<Database>,
  chainId: number,
  from: bigint,
  windowSeconds: number,
): Promise<void> {
  await sql`
    UPDATE service.contract_metadata c SET wanted_block = u.block, attempts = 0, unchanged = 0,
      next_attempt_at = CASE WHEN c.lease_until > clock_timestamp() THEN c.next_attempt_at ELSE least(c.next_attempt_at,
        CASE WHEN EXISTS (SELECT FROM nft.collections o WHERE o.chain_id = ${chainId} AND o.address = c.address)
        THEN clock_timestamp()
        ELSE greatest(clock_timestamp(), c.attempted_at + make_interval(secs => ${windowSeconds})) END) END
    FROM (SELECT contract, max(block_number) AS block FROM nft.contract_updates
      WHERE chain_id = ${chainId} AND block_number >= ${from} GROUP BY contract) u
    WHERE c.chain_id = ${chainId} AND c.address = u.contract
      AND coalesce(c.fetched_block < u.block, true) AND coalesce(c.wanted_block < u.block, true)`.execute(db);
}

/**
 * Queues the announced tokens: those whose URI was read before the event's block are stale. Collections of our factory,
 * whose events come from their admins' transactions, are queued at once, a third party's contract once in
 * `windowSeconds`, however often it announces.
 *
 * @returns whether anything was queued.
 */
export async function applyAnnouncements(
  db: Kysely<Database>,
  chainId: number,
  head: bigint,
  windowSeconds: number,
): Promise<boolean> {
  const { rows } = await sql<{ contract: Buffer; block: bigint; wide: boolean }>`
    SELECT a.contract, max(a.block) AS block, bool_or(a.to_token_id > a.from_token_id) AS wide
    FROM service.metadata_announcement a
    LEFT JOIN service.contract_metadata c ON c.chain_id = ${chainId} AND c.address = a.contract
    WHERE a.chain_id = ${chainId} AND a.block > a.applied_block
      AND (c.announced_at IS NULL OR c.announced_at <= clock_timestamp() - make_interval(secs => ${windowSeconds})
        OR EXISTS (SELECT FROM nft.collections o WHERE o.chain_id = ${chainId} AND o.address = a.contract))
    GROUP BY a.contract
    LIMIT 500`.execute(db);
  for (const { contract, block, wide } of rows) {
    while ((await markStale(db, chainId, contract, block)) === portion);
    await sql`
      UPDATE service.metadata_announcement SET applied_block = ${block}
      WHERE chain_id = ${chainId} AND contract = ${contract} AND block <= ${block}`.execute(db);
    // An event for all tokens often means that the collection's own document has changed as well.
    await sql`
      INSERT INTO service.contract_metadata AS c (chain_id, address, announced_at)
      VALUES (${chainId}, ${contract}, clock_timestamp())
      ON CONFLICT (chain_id, address) DO UPDATE SET announced_at = clock_timestamp(),
        next_attempt_at = CASE WHEN ${wide} THEN least(c.next_attempt_at, clock_timestamp()) ELSE c.next_attempt_at END
    `.execute(db);
  }
  if (rows.length > 0)
    await sql`
      DELETE FROM service.metadata_announcement
      WHERE chain_id = ${chainId} AND applied_block >= block AND block < ${head - keptBlocks}`.execute(db);
  return rows.length > 0;
}

async function markStale(db: Kysely<Database>, chainId: number, contract: Buffer, upTo: bigint): Promise<number> {
  const { numAffectedRows } = await sql`
    WITH stale AS (
      SELECT m.token_id, max(a.block) AS block
      FROM service.metadata_announcement a JOIN service.token_metadata m
        ON m.chain_id = ${chainId} AND m.contract = a.contract AND m.token_id BETWEEN a.from_token_id AND a.to_token_id
      WHERE a.chain_id = ${chainId} AND a.contract = ${contract} AND a.block > a.applied_block AND a.block <= ${upTo}
        AND coalesce(m.fetched_block < a.block, true) AND coalesce(m.wanted_block < a.block, true)
      GROUP BY m.token_id
      LIMIT ${portion}
    )
    UPDATE service.token_metadata m SET wanted_block = stale.block, status = 'pending',
      priority = least(m.priority, 2), attempts = 0,
      next_attempt_at = CASE WHEN m.lease_until > clock_timestamp() THEN m.next_attempt_at ELSE clock_timestamp() END
    FROM stale
    WHERE m.chain_id = ${chainId} AND m.contract = ${contract} AND m.token_id = stale.token_id`.execute(db);
  return Number(numAffectedRows ?? 0n);
}
