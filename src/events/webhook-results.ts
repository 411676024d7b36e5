import type pg from "pg";
import { inTransaction } from "../db/connection.ts";
import type { Services } from "../services.ts";
import { advanced, type Item, storedReplay, type Waiting } from "./read-waiting.ts";
import { disabledAfterSeconds } from "./retry-schedule.ts";
import type { WebhookRow } from "./webhook-record.ts";

/** The result of one try. */
export interface DeliveryResult {
  item: Item;
  attempt: number;
  at: Date;
  delivered: boolean;
  /** The event is no longer kept: there is nothing to send. */
  gone: boolean;
  status: number | null;
  fault: string | null;
  milliseconds: number;
  answer: string | null;
  /** Seconds until the next try; null: there is none. */
  pauseSeconds: number | null;
  /** Pause that a failed answer requests for the whole endpoint; null: none. */
  askedSeconds: number | null;
}

/** Why waiting messages are not sent although the endpoint answers, and for how long. */
export interface Hold {
  reason: "tries" | "rate";
  seconds: number;
}

interface Consequences {
  pauseSeconds: number;
  hold: Hold | null;
  /** Messages that were charged before they were sent. */
  taken: number;
}

/** An endpoint that answers with this status is gone for good. */
export const goneStatus = 410;
/** An endpoint that takes longer to answer counts as slow, until it answers faster again. */
export const slowMs = 1_000;
/** Rows kept for events that were delivered at the first try: per claim, and per endpoint. */
const shownOfClaim = 10;
export const shownOfEndpoint = 200;
/** With this many failed messages waiting for their next try, no further ones are started. */
export const mostFailed = 1_000;

/**
 * Records the tries of one claim and releases it, in one transaction. The endpoint is due again when its next delivery
 * is, but not before the pause that its failures require.
 */
export async function recordResults(
  { pool }: Pick<Services, "pool">,
  row: WebhookRow,
  waiting: Pick<Waiting, "main" | "replay">,
  results: readonly DeliveryResult[],
  consequences: Consequences,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    // Locks the endpoint's row first: whatever adds messages to it is visible below, or sees what this one leaves.
    const held = await client.query("SELECT FROM service.webhook WHERE id = $1 AND lease_id = $2 FOR NO KEY UPDATE", [
      row.id,
      row.lease_id,
    ]);
    await noteOfRows(client, results);
    // If the claim has expired, the endpoint belongs to another claim.
    if (held.rowCount) {
      await makeRows(client, row, results);
      await giveBack(client, row, waiting, results, consequences);
    }
  });
}

function stateOf({ delivered, pauseSeconds }: DeliveryResult): "delivered" | "dead" | "pending" {
  if (delivered) return "delivered";
  return pauseSeconds === null ? "dead" : "pending";
}

function tryOf({ attempt, at, status, fault, milliseconds, answer }: DeliveryResult) {
  return { attempt, at, status, fault, milliseconds, answer };
}

async function noteOfRows(client: pg.PoolClient, all: readonly DeliveryResult[]): Promise<void> {
  const results = all.filter(({ item }) => item.id !== null);
  if (results.length === 0) return;
  const isNext = "d.state = 'pending' AND d.attempts = r.attempt - 1";
  await client.query(
    `UPDATE service.webhook_delivery d SET
       tries = d.tries || r.try,
       state = CASE WHEN ${isNext} THEN r.state ELSE d.state END,
       attempts = CASE WHEN ${isNext} THEN r.attempt ELSE d.attempts END,
       next_at = CASE WHEN ${isNext} THEN clock_timestamp() + coalesce(r.pause, 0) * interval '1 second' ELSE d.next_at END,
       ended_at = CASE WHEN ${isNext} AND r.state <> 'pending' THEN clock_timestamp() ELSE d.ended_at END
     FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::double precision[], $5::jsonb[]) AS r (id, state, attempt, pause, try)
     WHERE d.id = r.id`,
    [
      results.map(({ item }) => String(item.id)),
      results.map(stateOf),
      results.map(({ attempt }) => attempt),
      results.map(({ pauseSeconds }) => pauseSeconds),
      results.map((result) => JSON.stringify(tryOf(result))),
    ],
  );
}

/** Makes rows for events without one: for failed ones, and for the newest others, so that their owner can see them. */
async function makeRows(client: pg.PoolClient, row: WebhookRow, all: readonly DeliveryResult[]): Promise<void> {
  const first = all.filter(({ item }) => item.id === null);
  const shown = first.filter(({ delivered }) => delivered).slice(-shownOfClaim);
  const results = first.filter((result) => !result.delivered || shown.includes(result));
  if (results.length === 0) return;
  results.sort((a, b) => Number((a.item.sequence ?? 0n) - (b.item.sequence ?? 0n)));
  await client.query(
    `WITH made AS (
       INSERT INTO service.webhook_delivery (webhook_id, account_id, sequence, event_id, type, place, state, attempts,
           next_at, ended_at, tries)
         SELECT $1, $2, r.sequence, r.event_id, r.type, r.place, r.state, 1,
           clock_timestamp() + coalesce(r.pause, 0) * interval '1 second',
           CASE WHEN r.state <> 'pending' THEN clock_timestamp() END, jsonb_build_array(r.try)
         FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[], $9::jsonb[])
           AS r (sequence, event_id, type, place, state, pause, try))
     DELETE FROM service.webhook_delivery WHERE webhook_id = $1 AND state = 'delivered' AND id <= (
       SELECT d.id FROM service.webhook_delivery d WHERE d.webhook_id = $1 AND d.state = 'delivered'
       ORDER BY d.id DESC OFFSET ${shownOfEndpoint - shownOfClaim} LIMIT 1)`,
    [
      ...[row.id, row.account_id],
      results.map(({ item }) => String(item.sequence)),
      results.map(({ item }) => item.eventId),
      results.map(({ item }) => item.type),
      results.map(({ item }) => item.place),
      results.map(stateOf),
      results.map(({ pauseSeconds }) => pauseSeconds),
      results.map((result) => JSON.stringify(tryOf(result))),
    ],
  );
}

async function giveBack(
  client: pg.PoolClient,
  row: WebhookRow,
  { main, replay }: Pick<Waiting, "main" | "replay">,
  results: readonly DeliveryResult[],
  { pauseSeconds, hold, taken }: Consequences,
): Promise<void> {
  const tried = results.filter(({ gone }) => !gone);
  const failed = tried.some(({ delivered }) => !delivered);
  const isGone = tried.some(({ status }) => status === goneStatus);
  const done = new Set(
    results.flatMap(({ item }) => (item.id === null && item.sequence !== null ? item.sequence : [])),
  );
  const next = main && advanced(main, done);
  const again = replay && advanced(replay, done);
  const isOver = again !== null && again.cursor >= again.upto;
  await client.query(
    `WITH used AS (INSERT INTO service.webhook_use AS u (account_id, day, tries)
       SELECT a.id, (clock_timestamp() AT TIME ZONE 'UTC')::date, $12::integer FROM service.account a WHERE a.id = $13 AND $12::integer <> 0
       ON CONFLICT (account_id) DO UPDATE SET day = excluded.day,
         tries = greatest(0, excluded.tries + CASE WHEN u.day = excluded.day THEN u.tries ELSE 0 END))
     UPDATE service.webhook w SET lease_id = NULL, lease_until = NULL,
       cursor = n.cursor, ahead = n.ahead, replays = n.replays,
       held = CASE WHEN w.verified_at IS NULL THEN 'verification' ELSE coalesce(n.held, CASE WHEN n.next_at IS NOT NULL THEN $14 END) END,
       slow = coalesce($7, w.slow), proven = w.proven OR coalesce($3 AND NOT $7, false),
       failures = CASE WHEN $2 THEN w.failures + 1 WHEN $3 THEN 0 ELSE w.failures END,
       failing_since = CASE WHEN $2 THEN coalesce(w.failing_since, clock_timestamp()) WHEN $3 THEN NULL ELSE w.failing_since END,
       state = CASE WHEN n.reason IS NULL THEN w.state ELSE 'disabled' END,
       disabled_reason = coalesce(n.reason, w.disabled_reason),
       disabled_at = CASE WHEN n.reason IS NULL THEN w.disabled_at ELSE clock_timestamp() END,
       changed_at = CASE WHEN n.reason IS NULL THEN w.changed_at ELSE clock_timestamp() END,
       -- Without a delivery there is nothing to be due. Its URL may have changed meanwhile: the new one is asked.
       next_due = CASE WHEN w.verified_at IS NULL THEN clock_timestamp() WHEN n.next_at IS NOT NULL
         THEN greatest(n.next_at, CASE WHEN $2 THEN clock_timestamp() + $5 * interval '1 second' END,
           clock_timestamp() + $15 * interval '1 second') END
     FROM (
       -- What is disabled while nothing waits goes on, when it does, with what comes from here.
       SELECT b.*, CASE WHEN b.idle AND b.reason IS NOT NULL THEN greatest(b.reached, service.webhooks_matched()) ELSE b.reached END AS cursor,
         least(CASE WHEN b.held IS NULL AND (NOT b.idle OR b.replays <> '[]') THEN clock_timestamp() END, b.due) AS next_at
       FROM (
         SELECT a.*, h.wanted <= a.reached AS idle,
           (SELECT min(d.next_at) FROM service.webhook_delivery d WHERE d.webhook_id = h.id AND d.state = 'pending') AS due,
           CASE WHEN (SELECT count(*) FROM (SELECT FROM service.webhook_delivery d
             WHERE d.webhook_id = h.id AND d.state = 'pending' LIMIT ${mostFailed}) f) = ${mostFailed} THEN 'failed' END AS held,
           CASE WHEN h.state <> 'enabled' THEN NULL WHEN $4 THEN 'gone'
             WHEN $2 AND h.failing_since < clock_timestamp() - $6 * interval '1 second' THEN 'failing' END AS reason
         FROM service.webhook h CROSS JOIN LATERAL (
           SELECT greatest(h.cursor, $8::bigint) AS reached, coalesce($9::bigint[], h.ahead) AS ahead,
             CASE WHEN $10 THEN h.replays - 0 WHEN $11::jsonb IS NOT NULL THEN jsonb_set(h.replays, '{0}', $11::jsonb)
               ELSE h.replays END AS replays) a
         WHERE h.id = $1) b) n
     WHERE w.id = $1`,
    [
      ...[row.id, failed, results.length > 0 && !failed, isGone, pauseSeconds, disabledAfterSeconds],
      tried.length > 0 ? tried.some(({ milliseconds }) => milliseconds > slowMs) : null,
      ...(next ? [String(next.cursor), next.ahead.map(String)] : [null, null]),
      ...[isOver, again && JSON.stringify(storedReplay(again)), tried.length - taken, row.account_id],
      ...[hold?.reason ?? null, hold?.seconds ?? null],
    ],
  );
}
