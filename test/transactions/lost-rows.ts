import type pg from "pg";
import type { Address, Hex } from "viem";

/**
 * Plays the end of a database that a failover without synchronous replication, or a restore, has lost: the requests
 * with all their rows are gone, and the wallet's counter stands at the first of their nonces.
 *
 * @param keep the requests themselves stay, as they were when they were accepted.
 */
export async function loseRows(
  pool: pg.Pool,
  ids: readonly string[],
  wallet: Address,
  keep: "requests" | "nothing" = "nothing",
): Promise<void> {
  const client = await pool.connect();
  try {
    // The guards of the tables forbid all of this; a lost tail of the log does not ask them.
    await client.query("BEGIN; SET LOCAL session_replication_role = replica");
    const addr = Buffer.from(wallet.slice(2), "hex");
    const { rows } = await client.query<{ nonce: string }>(
      "SELECT min(nonce)::text AS nonce FROM service.nonce_reservation WHERE intent_id = ANY($1) AND addr = $2",
      [ids, addr],
    );
    const lost = "(SELECT chain_id, addr, nonce FROM service.nonce_reservation WHERE intent_id = ANY($1))";
    const attempts = `(SELECT hash FROM service.attempt WHERE (chain_id, addr, nonce) IN ${lost})`;
    await client.query(`DELETE FROM service.attempt_event WHERE attempt_hash IN ${attempts}`, [ids]);
    await client.query(`DELETE FROM service.attempt WHERE (chain_id, addr, nonce) IN ${lost}`, [ids]);
    await client.query("DELETE FROM service.nonce_reservation WHERE intent_id = ANY($1)", [ids]);
    await client.query("DELETE FROM service.intent_history WHERE intent_id = ANY($1)", [ids]);
    if (keep === "requests") {
      await client.query("UPDATE service.intent SET state = 'queued', version = 0 WHERE id = ANY($1)", [ids]);
    } else {
      await client.query("DELETE FROM service.token_claim WHERE root_id = ANY($1)", [ids]);
      await client.query("DELETE FROM service.charge WHERE root_id = ANY($1)", [ids]);
      await client.query(
        `UPDATE service.budget b SET reserved = b.reserved - e.amount FROM (
           SELECT scope, period, sum(amount) AS amount FROM service.budget_entry
           WHERE intent_id = ANY($1) AND NOT settled GROUP BY scope, period) e
         WHERE (e.scope, e.period) = (b.scope, b.period)`,
        [ids],
      );
      await client.query("DELETE FROM service.budget_entry WHERE intent_id = ANY($1)", [ids]);
      await client.query("DELETE FROM service.intent WHERE id = ANY($1)", [ids]);
    }
    await client.query("UPDATE service.relayer_wallet SET next_nonce = $1 WHERE addr = $2", [rows[0]?.nonce, addr]);
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}

export const nameOnChain = (id: string): Hex => `0x${id.replaceAll("-", "").padStart(64, "0")}`;
