import type { Services } from "../services.ts";
import type { WebhookRow } from "./webhook-record.ts";

/** What came of one try. */
export interface DeliveryResult {
  id: bigint;
  attempt: number;
  at: Date;
  delivered: boolean;
  /** The event is kept no more: there is nothing to send. */
  gone: boolean;
  status: number | null;
  fault: string | null;
  milliseconds: number;
  answer: string | null;
  /** Until the next try; null: there is none. */
  pauseSeconds: number | null;
  /** What a failed answer asks for before anything else is sent; null: nothing. */
  askedSeconds: number | null;
}

/** An endpoint that answers so is there no more. */
const goneStatus = 410;

/**
 * Notes the tries of one claim and gives it back, in one transaction. The endpoint is due again when the next of its
 * deliveries is, after the pause that its failures ask for.
 */
export async function recordResults(
  { pool }: Pick<Services, "pool">,
  row: WebhookRow,
  results: readonly DeliveryResult[],
  {
    pauseSeconds,
    disabledAfterSeconds,
    slowMs,
  }: { pauseSeconds: number; disabledAfterSeconds: number; slowMs: number },
): Promise<void> {
  const failed = results.some(({ delivered, gone }) => !delivered && !gone);
  const isGone = results.some(({ status }) => status === goneStatus);
  const tried = results.filter(({ gone }) => !gone);
  const client = await pool.connect();
  let broken = true;
  try {
    await client.query("BEGIN");
    // The row first, as whoever makes deliveries locks it after making them: what was made by then is seen below.
    const held = await client.query("SELECT FROM service.webhook WHERE id = $1 AND lease_id = $2 FOR NO KEY UPDATE", [
      row.id,
      row.lease_id,
    ]);
    await client.query(
      `INSERT INTO service.webhook_try (delivery_id, attempt, account_id, at, status, fault, milliseconds, answer)
       SELECT t.id, t.attempt, $1, t.at, t.status, t.fault, t.ms, t.answer
       FROM unnest($2::bigint[], $3::integer[], $4::timestamptz[], $5::integer[], $6::text[], $7::integer[], $8::text[])
         AS t (id, attempt, at, status, fault, ms, answer)
       WHERE EXISTS (SELECT FROM service.webhook_delivery d WHERE d.id = t.id) ON CONFLICT DO NOTHING`,
      [
        row.account_id,
        results.map(({ id }) => String(id)),
        results.map(({ attempt }) => attempt),
        results.map(({ at }) => at),
        results.map(({ status }) => status),
        results.map(({ fault }) => fault),
        results.map(({ milliseconds }) => milliseconds),
        results.map(({ answer }) => answer),
      ],
    );
    await client.query(
      `UPDATE service.webhook_delivery d SET state = r.state, attempts = r.attempt,
         next_at = clock_timestamp() + coalesce(r.pause, 0) * interval '1 second',
         ended_at = CASE WHEN r.state <> 'pending' THEN clock_timestamp() END
       FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::double precision[]) AS r (id, state, attempt, pause)
       WHERE d.id = r.id AND d.state = 'pending' AND d.attempts = r.attempt - 1`,
      [
        results.map(({ id }) => String(id)),
        results.map(({ delivered, pauseSeconds: pause }) =>
          delivered ? "delivered" : pause === null ? "dead" : "pending",
        ),
        results.map(({ attempt }) => attempt),
        results.map(({ pauseSeconds: pause }) => pause),
      ],
    );
    if (held.rowCount)
      await client.query(
        `UPDATE service.webhook w SET lease_id = NULL, lease_until = NULL,
           slow = coalesce($7, w.slow),
           failures = CASE WHEN $2 THEN w.failures + 1 WHEN $3 THEN 0 ELSE w.failures END,
           failing_since = CASE WHEN $2 THEN coalesce(w.failing_since, clock_timestamp()) WHEN $3 THEN NULL ELSE w.failing_since END,
           state = CASE WHEN n.reason IS NULL THEN w.state ELSE 'disabled' END,
           disabled_reason = coalesce(n.reason, w.disabled_reason),
           disabled_at = CASE WHEN n.reason IS NULL THEN w.disabled_at ELSE clock_timestamp() END,
           changed_at = CASE WHEN n.reason IS NULL THEN w.changed_at ELSE clock_timestamp() END,
           -- Without a delivery there is nothing to be due.
           next_due = CASE WHEN n.next_at IS NOT NULL
             THEN greatest(n.next_at, CASE WHEN $2 THEN clock_timestamp() + $5 * interval '1 second' END) END
         FROM (SELECT
             CASE WHEN h.state <> 'enabled' THEN NULL WHEN $4 THEN 'gone'
               WHEN $2 AND h.failing_since < clock_timestamp() - $6 * interval '1 second' THEN 'failing' END AS reason,
             (SELECT min(d.next_at) FROM service.webhook_delivery d WHERE d.webhook_id = h.id AND d.state = 'pending') AS next_at
           FROM service.webhook h WHERE h.id = $1) n
         WHERE w.id = $1`,
        [
          ...[row.id, failed, results.length > 0 && !failed, isGone, pauseSeconds, disabledAfterSeconds],
          tried.length > 0 ? tried.some(({ milliseconds }) => milliseconds > slowMs) : null,
        ],
      );
    await client.query("COMMIT");
    broken = false;
  } finally {
    client.release(broken);
  }
}
