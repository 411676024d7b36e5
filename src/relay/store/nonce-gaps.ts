import type { Kysely } from "kysely";
import { sql } from "kysely";
import type { Database } from "../../db/database.ts";

/** More than this is no lost backup. */
const most = 1_000;

/**
 * Nonces that a wallet has used and no slot remembers, from the lane's first slot on; also those that were found in use
 * and are not explained yet.
 *
 * @param count transactions of the wallet on the chain.
 */
export async function missingNonces(
  db: Kysely<Database>,
  chainId: number,
  addr: Buffer,
  count: bigint,
): Promise<bigint[]> {
  const { rows } = await sql<{ nonce: bigint }>`
    SELECT n AS nonce
    FROM service.lane l, generate_series(
      coalesce((SELECT min(s.nonce) FROM service.slot s WHERE s.chain_id = l.chain_id AND s.addr = l.addr), l.next_nonce),
      greatest(l.next_nonce, ${count}) - 1) AS n
    WHERE l.chain_id = ${chainId} AND l.addr = ${addr} AND NOT EXISTS (
      SELECT FROM service.slot s WHERE s.chain_id = l.chain_id AND s.addr = l.addr AND s.nonce = n
        AND NOT (s.found AND s.intent_id IS NULL AND s.state = 'open'))
      AND n < ${count}
    ORDER BY n LIMIT ${most}`.execute(db);
  return rows.map(({ nonce }) => nonce);
}
