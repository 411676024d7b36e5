import type pg from "pg";
import type { Address } from "viem";
import { toBytes } from "../../src/db/bytes.ts";
import type { Services } from "../../src/services.ts";
import { getIntent, type Intent } from "../../src/transactions/store/intents.ts";

/**
 * Gives a request the wallet's next nonce without signing it: what a process of an earlier version left when it died in
 * between.
 */
export async function giveNonce(
  { db, pool }: Services & { pool: pg.Pool },
  { id, chain_id }: Intent,
  wallet: Address,
): Promise<Intent> {
  const { rowCount } = await pool.query(
    `WITH counted AS (
       UPDATE service.relayer_wallet SET next_nonce = next_nonce + 1 WHERE (chain_id, addr) = ($1, $2)
       RETURNING next_nonce - 1 AS nonce),
     moved AS (
       UPDATE service.intent SET state = 'assigned', version = version + 1 WHERE id = $3 RETURNING id, kind)
     INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind)
     SELECT $1, $2, nonce, id, CASE WHEN kind IN ('deploy', 'update') THEN kind ELSE 'operate' END FROM counted, moved`,
    [chain_id, toBytes(wallet), id],
  );
  if (rowCount !== 1) throw new Error(`${wallet} has no row`);
  return await getIntent(db, id);
}
