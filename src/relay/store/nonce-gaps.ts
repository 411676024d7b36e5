import type { Kysely, Transaction } from "kysely";
import { sql } from "kysely";
import type { Database } from "../../db/database.ts";

/** More than this is no lost backup. */
const most = 1_000;

/**
 * Nonces that a wallet has used and no reservation remembers, from its first reservation on; also those that were found in use
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
    FROM service.relayer_wallet l, generate_series(
      coalesce((SELECT min(s.nonce) FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr), l.next_nonce),
      greatest(l.next_nonce, ${count}) - 1) AS n
    WHERE l.chain_id = ${chainId} AND l.addr = ${addr} AND NOT EXISTS (
      SELECT FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr AND s.nonce = n
        AND NOT (s.found AND s.intent_id IS NULL AND s.state = 'open'))
      AND n < ${count}
    ORDER BY n LIMIT ${most}`.execute(db);
  return rows.map(({ nonce }) => nonce);
}

/**
 * Reserves the nonces between one that is taken over and those that a wallet knows, without a request: rows were lost, and
 * the wallet has used what lies between. `importFound` records by what, once it is final; a request that comes back takes
 * its own over. Below the lowest of a wallet that lost all of its rows nobody knows where the wallet began.
 *
 * Call it with the wallet's row locked, so that none of them is being given out, and before the nonce has its own row.
 *
 * @param nextNonce the wallet's counter before it moves behind the nonce.
 * @returns how many were reserved.
 */
export async function reserveBetween(
  transaction: Transaction<Database>,
  key: { chain_id: number; addr: Buffer },
  nonce: bigint,
  nextNonce: bigint,
): Promise<bigint> {
  const { numAffectedRows } = await sql`
    INSERT INTO service.nonce_reservation (chain_id, addr, nonce, kind, found)
    SELECT ${key.chain_id}, ${key.addr}, n, 'cancellation', true
    FROM (SELECT coalesce(min(s.nonce), ${nextNonce}::bigint) AS lowest FROM service.nonce_reservation s
        WHERE s.chain_id = ${key.chain_id} AND s.addr = ${key.addr}) known,
      generate_series(least(${nonce}::bigint + 1, ${nextNonce}::bigint), greatest(${nonce}::bigint, lowest) - 1) AS n`.execute(
    transaction,
  );
  return numAffectedRows ?? 0n;
}
