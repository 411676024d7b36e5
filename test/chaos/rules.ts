import type pg from "pg";

/** Each finds rows that break a rule of the relay; `$1` is how many blocks a transaction may wait. */
const rules: Readonly<Record<string, string>> = {
  "intents that have not ended": `SELECT 1 FROM service.intent
    WHERE state NOT IN ('finalized', 'retried', 'cancelled', 'expired', 'failed_onchain')`,
  "intents that ended without their collection": `SELECT 1 FROM service.intent
    WHERE state IN ('cancelled', 'expired', 'failed_onchain') AND cancel_requested_at IS NULL`,
  "gaps between nonces": `SELECT 1 FROM service.nonce_reservation GROUP BY chain_id, addr HAVING max(nonce) - min(nonce) + 1 <> count(*)`,
  "wei still reserved": "SELECT 1 FROM service.budget WHERE reserved <> 0",
  // A retry reserves when it is its turn; one that ended before that, cancelled or by a transaction of
  // another nonce than its own, never did.
  "intents without a reservation": `SELECT 1 FROM service.intent i WHERE state <> 'retried'
    AND NOT (retry_number > 0 AND (state = 'cancelled' OR found_tx IS NOT NULL))
    AND NOT EXISTS (SELECT FROM service.budget_entry b WHERE b.intent_id = i.id)`,
  "deployments that are not charged once": `SELECT 1 FROM service.intent i JOIN service.price p USING (chain_id, kind)
    LEFT JOIN service.charge c ON c.root_id = i.root_id AND c.state = 'open'
    WHERE i.retry_number = 0 GROUP BY i.id HAVING count(c.id) <> 1`,
  "imported transactions": "SELECT 1 FROM service.attempt WHERE kind = 'imported'",
  "wallets not open": "SELECT 1 FROM service.relayer_wallet WHERE state <> 'open'",
  "attempts of another nonce than their intent's": `SELECT 1 FROM service.nonce_reservation s
    WHERE s.intent_id IS NOT NULL AND NOT EXISTS (SELECT FROM service.attempt a
      WHERE a.chain_id = s.chain_id AND a.addr = s.addr AND a.nonce = s.nonce)`,
  "replacements that raise a fee by less than an eighth": `SELECT 1 FROM (
    SELECT max_fee, tip, lag(max_fee) OVER w AS fee_before, lag(tip) OVER w AS tip_before FROM service.attempt
    WHERE kind <> 'imported' WINDOW w AS (PARTITION BY chain_id, addr, nonce ORDER BY created_at)) x
    WHERE max_fee * 8 < fee_before * 9 OR tip * 8 < tip_before * 9`,
  "replacements before their time in blocks": `SELECT 1 FROM (
    SELECT kind, head_block, lag(head_block) OVER (PARTITION BY chain_id, addr, nonce ORDER BY created_at) AS before
    FROM service.attempt) x WHERE kind <> 'cancellation' AND head_block - before < (SELECT $1::bigint)`,
};

/**
 * @param skipped rules that the run judges by itself.
 * @returns in words what the tables show of broken rules, once everything has ended.
 */
export async function findBrokenRules(
  pool: pg.Pool,
  bumpAfterBlocks: number,
  skipped: readonly string[] = [],
): Promise<string[]> {
  const broken: string[] = [];
  for (const [rule, query] of Object.entries(rules)) {
    if (skipped.includes(rule)) continue;
    const { rows } = await pool.query(
      `SELECT count(*)::int AS n FROM (${query}) found, (SELECT $1::bigint AS blocks) parameter`,
      [bumpAfterBlocks],
    );
    if (rows[0].n > 0) broken.push(`${rule}: ${rows[0].n}`);
  }
  return broken;
}
