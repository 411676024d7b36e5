import { type Kysely, sql } from "kysely";
import type { Database } from "../../db/database.ts";

/** Rows per statement, far below the statement time-out. */
const portion = 10_000;
const nobody = Buffer.alloc(20);

/**
 * Queues tokens that were minted again after they were burned, from a block on: what was read before is of a token that is
 * dead, and ERC-4906 wants no event of a mint. Of ERC-1155 these are the mints of an id that nobody held.
 *
 * Without its URI, a document is only shown until the token has been tried again (`finishToken`).
 *
 * @returns how many; as many as `portion` when there are more.
 */
export async function queueReborn(db: Kysely<Database>, chainId: number, from: bigint): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`
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
    ), marked AS (
      UPDATE service.token_metadata m SET wanted_block = r.block, status = 'pending', priority = least(m.priority, 1),
        attempts = 0, token_uri = NULL,
        next_attempt_at = CASE WHEN m.lease_until > clock_timestamp() THEN m.next_attempt_at ELSE clock_timestamp() END
      FROM (SELECT * FROM reborn LIMIT ${portion}) r
      WHERE m.chain_id = ${chainId} AND m.contract = r.contract AND m.token_id = r.token_id
        AND coalesce(m.fetched_block < r.block, true) AND coalesce(m.wanted_block < r.block, true)
      RETURNING 1
    )
    SELECT count(*) FROM marked`.execute(db);
  return rows[0]?.count ?? 0n;
}
