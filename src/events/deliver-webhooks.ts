import { randomUUID } from "node:crypto";
import { type SqlBool, sql } from "kysely";
import { backoffMs } from "../backoff.ts";
import { claimRows, dueRows, type WorkQueue } from "../db/lease.ts";
import type { Posted, Poster, PostFault } from "../outbound/post.ts";
import { eventBody } from "../outbox/event-row.ts";
import { type SigningKeys, signedHeaders } from "../outbox/sign-webhook.ts";
import type { Services } from "../services.ts";
import { Slots } from "../slots.ts";
import type { HostRates } from "./host-rates.ts";
import type { Item, Waiting } from "./read-waiting.ts";
import { pauseAfter, untilMorning } from "./retry-schedule.ts";
import { countTries } from "./webhook-figures.ts";
import { type ClaimedWebhook, signingKeysOf } from "./webhook-record.ts";
import { type DeliveryResult, type Hold, recordResults } from "./webhook-results.ts";

/** Workers claim endpoints, not deliveries: one worker at a time sends to an endpoint, so its messages are in order. */
const queue: WorkQueue = {
  table: "service.webhook",
  key: ["id"],
  open: sql<SqlBool>`state = 'enabled' AND next_due IS NOT NULL`,
  due: "next_due",
  named: true,
};

/** Longer than sending all messages of one claim to an endpoint can take. */
const leaseSeconds = 90;
/** Concurrent messages to one endpoint, each of another contract or object (`placeOf`). */
const atOnce = 4;
/** Pauses of a failing endpoint. After each pause a single message shows whether it is back. */
const afterFailure = { firstMs: 2_000, mostMs: 600_000, jitter: 0.1 };

/**
 * Endpoints that one worker serves concurrently, of all accounts and of one. Failing and slow endpoints take long, so
 * they have slots of their own; so have new ones, whose speed is unknown. After `beginMs` no further message of a claim
 * is started, so that the next endpoint gets its turn.
 */
export const webhookPlaces = {
  quick: { all: 96, ofAccount: 32, beginMs: 1_000 },
  fresh: { all: 24, ofAccount: 6, beginMs: 1_000 },
  slow: { all: 24, ofAccount: 6, beginMs: 5_000 },
} as const;
export type Lane = keyof typeof webhookPlaces;
export const lanes = Object.keys(webhookPlaces) as readonly Lane[];
/**
 * A claim that takes longer than `afterMs` frees its slot for another endpoint and goes on without one. At most this
 * many do so. A quick endpoint that turns slow thus delays the others by this time.
 */
export const latePlaces = { afterMs: 500, all: 480, ofAccount: 64 } as const;
/**
 * Claims endpoints with messages to be sent.
 *
 * @param busy accounts whose slots are all taken.
 * @param full whether the storage is full: then only the operator's endpoints are served.
 */
export async function claimWebhooks(
  { db }: Pick<Services, "db">,
  lane: Lane,
  limit: number,
  { busy, full }: { busy: readonly string[]; full: boolean },
): Promise<ClaimedWebhook[]> {
  const more = sql<SqlBool>`CASE WHEN q.failures > 0 OR q.slow THEN 'slow' WHEN q.proven THEN 'quick' ELSE 'fresh' END = ${lane}
    AND NOT EXISTS (SELECT FROM service.account a WHERE a.id = q.account_id AND a.suspended)
    AND (q.account_id IS NULL OR NOT ${full} AND q.account_id <> ALL (${[...busy]}::uuid[]))`;
  const lease = { seconds: leaseSeconds, id: randomUUID() };
  const { rows } = await claimRows<ClaimedWebhook>(
    queue,
    dueRows(queue, limit, more),
    lease,
    sql`m.*, service.webhook_tries_left(m.account_id) AS tries_left`,
  ).execute(db);
  return rows;
}

/** Records why nothing is sent to accounts' endpoints while the storage is full. Waiting events keep their position. */
export async function holdForStorage({ pool }: Pick<Services, "pool">): Promise<void> {
  await pool.query(
    `UPDATE service.webhook SET held = 'storage' WHERE state = 'enabled' AND next_due <= clock_timestamp()
       AND account_id IS NOT NULL AND held IS DISTINCT FROM 'storage'`,
  );
}

/** Sends waiting messages to one endpoint, and records the results. It only rejects if the database fails. */
export async function serveWebhook(
  services: Services,
  poster: Poster,
  row: ClaimedWebhook,
  waiting: Waiting,
  { lane, rates, signal }: { lane: Lane; rates: HostRates; signal: AbortSignal },
): Promise<DeliveryResult[]> {
  const signing = signingKeysOf(row, services.config.keyPepper);
  const results: DeliveryResult[] = [];
  const end = performance.now() + webhookPlaces[lane].beginMs;
  const { items, hold, taken } = await admit(services, row, waiting.items, rates);
  const places = [...Map.groupBy(items, ({ place }) => place).values()];
  const slots = new Slots(atOnce);
  let failed = false;
  let askedSeconds = 0;
  const sendPlace = async (place: readonly Item[]) => {
    for (const item of place) {
      // The rest waits: after a failure further messages would fail as well.
      if (failed || signal.aborted || performance.now() > end) return;
      const result = await send(services, poster, row.url, signing, item, signal);
      if (signal.aborted && result.fault !== null) return;
      results.push(result);
      if (!result.delivered && !result.gone) failed = true;
      if (result.askedSeconds !== null) askedSeconds = Math.max(askedSeconds, result.askedSeconds);
    }
  };
  await Promise.all(places.map((place) => slots.run(() => sendPlace(place))));
  await recordResults(services, row, waiting, results, {
    pauseSeconds: failed ? Math.max(backoffMs(row.failures + 1, afterFailure) / 1_000, askedSeconds) : 0,
    hold,
    taken,
  });
  countTries(services, results);
  return results;
}

/** With more messages than this left in a day, concurrent workers need not count them before sending. */
const plentyLeft = 20_000;

/**
 * Which of the waiting messages may be sent now, and why the others may not. The operator's endpoints have no bounds.
 *
 * @returns `taken`, how many of them were already charged to the account's daily messages.
 */
async function admit(
  { config, pool }: Pick<Services, "config" | "pool">,
  { account_id: account, tries_left: left, url }: ClaimedWebhook,
  waiting: readonly Item[],
  rates: HostRates,
): Promise<{ items: readonly Item[]; hold: Hold | null; taken: number }> {
  let [items, taken]: [readonly Item[], number] = [waiting, 0];
  let hold: Hold | null = null;
  if (account !== null && config.rateLimits && items.length > 0) {
    const { granted, waitSeconds } = rates.take(url, account, items.length);
    if (granted < items.length) hold = { reason: "rate", seconds: waitSeconds };
    items = items.slice(0, granted);
  }
  if (left === null || left > plentyLeft) return { items, hold, taken };
  if (left > 0 && items.length > 0) {
    const { rows } = await pool.query<{ taken: number }>("SELECT service.take_webhook_tries($1, $2) AS taken", [
      account,
      items.length,
    ]);
    taken = rows[0]?.taken ?? 0;
  }
  if (left > 0 && taken === items.length) return { items, hold, taken };
  return { items: items.slice(0, taken), taken, hold: { reason: "tries", seconds: untilMorning() } };
}

async function send(
  { feed }: Pick<Services, "feed">,
  poster: Poster,
  url: string,
  signing: SigningKeys,
  item: Item,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const attempt = item.attempts + 1;
  const at = new Date();
  const none = { status: null, fault: null, answer: null, pauseSeconds: null, askedSeconds: null };
  const body = item.body ?? (item.event && eventBody(item.event, feed.nameOfChain));
  // The event was dropped while the message waited.
  if (body === null)
    return { item, attempt, at, ...none, delivered: false, gone: true, fault: "expired", milliseconds: 0 };
  const started = performance.now();
  const headers = signedHeaders(signing, { id: item.eventId, seconds: Math.floor(at.getTime() / 1_000), body });
  const answer: Posted | PostFault = await poster.post(url, headers, body, signal);
  const common = { item, attempt, at, ...none, gone: false, milliseconds: Math.round(performance.now() - started) };
  if ("fault" in answer)
    return { ...common, delivered: false, fault: answer.fault, pauseSeconds: pauseAfter(attempt, null) };
  const { status, retryAfterSeconds } = answer;
  const delivered = status >= 200 && status < 300;
  return {
    ...{ ...common, delivered, status, answer: answer.answer },
    pauseSeconds: delivered ? null : pauseAfter(attempt, retryAfterSeconds),
    askedSeconds: delivered ? null : retryAfterSeconds,
  };
}
