import { randomUUID } from "node:crypto";
import { type SqlBool, sql } from "kysely";
import { backoffMs } from "../backoff.ts";
import { claimRows, dueRows, type WorkQueue } from "../db/lease.ts";
import type { Posted, Poster, PostFault } from "../outbound/post.ts";
import { type EventRow, eventBody } from "../outbox/event-row.ts";
import { signedHeaders, unseal } from "../outbox/sign-webhook.ts";
import type { Services } from "../services.ts";
import { boundedPause, disabledAfterSeconds, pauseAfter } from "./retry-schedule.ts";
import { countTries } from "./webhook-figures.ts";
import { secretsOf, type WebhookRow } from "./webhook-record.ts";
import { type DeliveryResult, recordResults } from "./webhook-results.ts";

/** Endpoints are the work, not deliveries: one worker at a time sends to one, so what is sent to it has an order. */
const queue: WorkQueue = {
  table: "service.webhook",
  key: ["id"],
  open: sql<SqlBool>`state = 'enabled' AND next_due IS NOT NULL`,
  due: "next_due",
  named: true,
};

/** Longer than all that is sent to an endpoint under one claim can take. */
const leaseSeconds = 90;
/** After this nothing more is begun under a claim. */
const sendingMs = 30_000;
const deliveriesOfClaim = 40;
/** Messages to one endpoint that are under way at once, each of another place. */
const atOnce = 4;
/** Of an endpoint that failed: one message at a time shows whether it is back. */
const afterFailure = { firstMs: 2_000, mostMs: 600_000, jitter: 0.1 };

/**
 * Endpoints that one worker sends to at once, of all accounts and of one. Those that fail or answer slowly hold a place for
 * long, and have their own.
 */
export const webhookPlaces = { quick: { all: 96, ofAccount: 32 }, slow: { all: 24, ofAccount: 6 } } as const;
/** An answer that takes longer makes an endpoint a slow one, until one comes sooner. */
export const slowMs = 1_000;

export interface Pending {
  id: bigint;
  sequence: bigint | null;
  event_id: string;
  body: string | null;
  place: string;
  attempts: number;
}

/**
 * Claims endpoints that have something to be sent.
 *
 * @param busy accounts that have all their places.
 */
export async function claimWebhooks(
  { db }: Services,
  kind: keyof typeof webhookPlaces,
  limit: number,
  busy: readonly string[],
): Promise<WebhookRow[]> {
  const more = sql<SqlBool>`(q.failures > 0 OR q.slow) = ${kind === "slow"}
    AND NOT EXISTS (SELECT FROM service.account a WHERE a.id = q.account_id AND a.suspended)
    AND (q.account_id IS NULL OR q.account_id <> ALL (${[...busy]}::uuid[]))`;
  const lease = { seconds: leaseSeconds, id: randomUUID() };
  const { rows } = await claimRows<WebhookRow>(queue, dueRows(queue, limit, more), lease, sql`m.*`).execute(db);
  return rows;
}

/** What is due of the endpoints, the oldest first, by endpoint. */
export async function readPending(
  { pool }: Services,
  webhooks: readonly WebhookRow[],
): Promise<Map<string, { pending: Pending; event: EventRow | null }[]>> {
  const { rows } = await pool.query<Pending & { webhook_id: string }>(
    `SELECT d.* FROM unnest($1::text[], $2::integer[]) AS w (id, most) CROSS JOIN LATERAL (
       SELECT d.webhook_id, d.id, d.sequence, d.event_id, d.body, d.place, d.attempts FROM service.webhook_delivery d
       WHERE d.webhook_id = w.id AND d.state = 'pending' AND d.next_at <= clock_timestamp()
       ORDER BY d.next_at, d.id LIMIT w.most) d ORDER BY d.id`,
    [webhooks.map(({ id }) => id), webhooks.map(({ failures }) => (failures > 0 ? 1 : deliveriesOfClaim))],
  );
  const sequences = [...new Set(rows.flatMap(({ sequence }) => (sequence === null ? [] : [String(sequence)])))];
  const events = new Map<bigint, EventRow>();
  if (sequences.length > 0) {
    const found = await pool.query<EventRow>("SELECT * FROM service.event WHERE sequence = ANY ($1::bigint[])", [
      sequences,
    ]);
    for (const event of found.rows) events.set(event.sequence, event);
  }
  return Map.groupBy(
    rows.map((pending) => ({
      webhook: pending.webhook_id,
      pending,
      event: pending.sequence === null ? null : (events.get(pending.sequence) ?? null),
    })),
    ({ webhook }) => webhook,
  );
}

/** Sends to one endpoint what was read for it, and notes what came of it. Never fails but for the database. */
export async function serveWebhook(
  services: Services,
  poster: Poster,
  row: WebhookRow,
  items: readonly { pending: Pending; event: EventRow | null }[],
  signal: AbortSignal,
): Promise<DeliveryResult[]> {
  const results: DeliveryResult[] = [];
  const end = performance.now() + sendingMs;
  const places = [...Map.groupBy(items, ({ pending }) => pending.place).values()];
  let failed = false;
  let askedSeconds = 0;
  const sendPlaces = async () => {
    for (let place = places.shift(); place; place = places.shift())
      for (const { pending, event } of place) {
        // The rest waits for its turn: what is behind a failure would fail as well.
        if (failed || signal.aborted || performance.now() > end) return;
        const result = await send(services, poster, row, pending, event, signal);
        if (signal.aborted && result.fault !== null) return;
        results.push(result);
        if (!result.delivered && !result.gone) failed = true;
        if (result.askedSeconds !== null) askedSeconds = Math.max(askedSeconds, result.askedSeconds);
      }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, places.length) }, sendPlaces));
  await recordResults(services, row, results, {
    pauseSeconds: failed ? Math.max(backoffMs(row.failures + 1, afterFailure) / 1_000, askedSeconds) : 0,
    disabledAfterSeconds,
    slowMs,
  });
  countTries(services, results);
  return results;
}

async function send(
  { config, feed }: Services,
  poster: Poster,
  row: WebhookRow,
  pending: Pending,
  event: EventRow | null,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const attempt = pending.attempts + 1;
  const common = { id: pending.id, attempt, at: new Date() };
  const body = pending.body ?? (event && eventBody(event, feed.nameOfChain));
  // It was dropped while it waited.
  if (body === null)
    return {
      ...common,
      delivered: false,
      gone: true,
      status: null,
      fault: "expired",
      milliseconds: 0,
      answer: null,
      ...{ pauseSeconds: null, askedSeconds: null },
    };
  const signing = { secrets: secretsOf(row, config.keyPepper), signingKey: unseal(row.signing_key, config.keyPepper) };
  const seconds = Math.floor(common.at.getTime() / 1_000);
  const started = performance.now();
  const headers = signedHeaders(signing, { id: pending.event_id, seconds, body });
  const answer: Posted | PostFault = await poster.post(row.url, headers, body, signal);
  const milliseconds = Math.round(performance.now() - started);
  if ("fault" in answer) {
    const pauseSeconds = pauseAfter(attempt, null);
    return {
      ...common,
      delivered: false,
      gone: false,
      status: null,
      fault: answer.fault,
      milliseconds,
      answer: null,
      ...{ pauseSeconds, askedSeconds: null },
    };
  }
  const delivered = answer.status >= 200 && answer.status < 300;
  return {
    ...{ ...common, delivered, gone: false, status: answer.status, fault: null, milliseconds, answer: answer.answer },
    pauseSeconds: delivered ? null : pauseAfter(attempt, answer.retryAfterSeconds),
    askedSeconds: delivered || answer.retryAfterSeconds === null ? null : boundedPause(answer.retryAfterSeconds),
  };
}
