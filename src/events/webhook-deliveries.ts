import { randomUUID } from "node:crypto";
import { ServiceError } from "../errors/errors.ts";
import { filterCondition } from "../outbox/event-filter.ts";
import type { MembersOf } from "../requests/answer-members.ts";
import { date, flag, type InputOf, id, text, uint } from "../requests/fields.ts";
import { readPlace } from "./event-input.ts";
import { isForCondition } from "./match-webhooks.ts";
import { placeInSql, type Replay, storedReplay } from "./read-waiting.ts";
import { sampleEvent, sampleTypes } from "./sample-event.ts";
import {
  type DeliveryTry,
  filterOfRow,
  restsUnverified,
  toTry,
  type WebhookOwner,
  type WebhookRow,
  type WebhookServices,
} from "./webhook-record.ts";
import { mostFailed } from "./webhook-results.ts";
import { findWebhook } from "./webhooks.ts";

/** The delivery of one event to one endpoint. */
export interface Delivery {
  id: string;
  eventId: string;
  type: string;
  sequence: string | null;
  state: "pending" | "delivered" | "dead";
  attempts: number;
  /** Only for a pending delivery. */
  nextAt: Date | null;
  createdAt: Date;
  tries: DeliveryTry[];
}

/** All members but `tries`, the tries so far, oldest first. */
export const deliveryMembers: MembersOf<Delivery> = {
  id: { kind: "id", doc: "The id of the delivery." },
  eventId: {
    kind: "id",
    doc: "The id of the event, sent as the header `webhook-id`. All attempts and replays have the same id.",
  },
  type: { kind: "text", doc: "The type of the event, such as `nft.transfer`." },
  sequence: {
    kind: "text",
    nullable: true,
    doc: "The sequence number of the event among all events, decimal. Null for an event outside the sequence, such as a test.",
  },
  state: {
    kind: "text",
    words: ["pending", "delivered", "dead"],
    doc: "The state of the delivery: `pending` (waiting for its next attempt), `delivered` (answered with 200 to 299) or `dead` (given up).",
  },
  attempts: { kind: "integer", doc: "The number of attempts since the delivery was created or last replayed." },
  nextAt: { kind: "date", nullable: true, doc: "When the next attempt is due. Null unless the delivery is pending." },
  createdAt: { kind: "date", doc: "When the delivery was created." },
};

const pageSize = 50;
/** The most events in one replay. */
const mostReplayed = 10_000;
/**
 * The newest deliveries of an endpoint, with their tries.
 *
 * @param before id of the last one of the previous page.
 * @throws ServiceError `not_found`, `value_error`.
 */
export async function listDeliveries(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  { state, before }: { state?: string | undefined; before?: string | undefined } = {},
): Promise<Delivery[]> {
  await findWebhook(services, owner, id);
  if (state !== undefined && !["pending", "delivered", "dead"].includes(state))
    throw new ServiceError("invalid_enumeration", "state must be one of: pending, delivered, dead", { field: "state" });
  const { rows } = await services.pool.query(
    `SELECT d.id::text, d.event_id AS "eventId", d.type, d.sequence::text, d.state, d.attempts,
       CASE WHEN d.state = 'pending' THEN d.next_at END AS "nextAt", d.created_at AS "createdAt",
       coalesce((SELECT jsonb_agg(jsonb_build_object('attempt', t.attempt, 'at', t.at, 'status', t.status, 'fault', t.fault,
         'milliseconds', t.milliseconds, 'answer', t.answer) ORDER BY t.at)
         FROM service.webhook_try t WHERE t.delivery_id = d.id), '[]') || d.tries AS tries
     FROM service.webhook_delivery d
     WHERE d.webhook_id = $1 AND ($2::text IS NULL OR d.state = $2) AND ($3::bigint IS NULL OR d.id < $3)
     ORDER BY d.id DESC LIMIT ${pageSize}`,
    [id, state ?? null, before === undefined ? null : String(readPlace(before))],
  );
  return rows.map((row) => ({ ...row, tries: row.tries.map(toTry) })) as Delivery[];
}

/** Selects the events to send again, in one of these ways. */
export const replayFields = {
  eventId: id({ v0: ["eventId"], doc: "The id of one event, `evt_…`." }),
  since: date({ doc: "Events from this time on." }),
  until: date({ doc: "Events before this time. Requires `since`." }),
  fromBlock: uint({
    v0: ["fromBlock"],
    doc: "Transfers from this block on, of every chain of the endpoint. Requires `toBlock`.",
  }),
  toBlock: uint({ v0: ["toBlock"], doc: "Transfers up to and including this block. Requires `fromBlock`." }),
  failed: flag({ doc: "True replays all deliveries that were given up (dead); the other members are then ignored." }),
};

/** Input of `sendTestEvent`. */
export const testFields = {
  type: text({
    default: "webhook.test",
    doc: `The type of the event: ${sampleTypes.join(", ")}.`,
  }),
};

/** With this many waiting rows or replays of an endpoint, further ones are refused. */
const mostWaiting = { rows: mostFailed, replays: 3 };

/**
 * Sends events again, with the same ids and bodies, so that a receiver can tell them from new ones: those that the
 * endpoint's filter matches and that are still kept.
 *
 * @returns how many; events that already wait are not counted.
 * @throws ServiceError `not_found`, `parameter_missing`, `webhook_unverified`; `plan_limit_exceeded` if too much waits.
 */
export async function replay(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  input: InputOf<typeof replayFields>,
): Promise<number> {
  const webhook = await findWebhook(services, owner, id);
  requireAsked(webhook);
  await requireRoom(services, id);
  if (input.failed) return await replayFailed(services, id);
  const values: unknown[] = [id];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    filterCondition(filterOfRow(webhook), values),
    isForCondition({ account_id: owner.accountId }, values),
  ];
  const asked = conditions.length;
  if (input.eventId) conditions.push(`e.id = ${parameter(input.eventId)}`);
  if (input.since) conditions.push(`e.at >= ${parameter(input.since)}`);
  if (input.since && input.until) conditions.push(`e.at < ${parameter(input.until)}`);
  const blocks =
    input.fromBlock !== undefined && input.toBlock !== undefined ? ([input.fromBlock, input.toBlock] as const) : null;
  if (blocks)
    conditions.push(`e.block_number BETWEEN ${parameter(String(blocks[0]))} AND ${parameter(String(blocks[1]))}`);
  if (conditions.length === asked)
    throw new ServiceError("parameter_missing", "give an eventId, since, fromBlock and toBlock, or failed", {
      field: "eventId",
    });
  // Events after the cursor are sent in any case.
  const events = `FROM service.webhook w JOIN service.event e
      ON e.sequence <= CASE WHEN w.cursor < w.wanted THEN w.cursor ELSE service.webhooks_matched() END
    WHERE w.id = $1 AND ${conditions.join(" AND ")}
      AND NOT EXISTS (SELECT FROM service.webhook_delivery d
        WHERE d.webhook_id = $1 AND d.sequence = e.sequence AND d.state = 'pending')
      AND NOT EXISTS (SELECT FROM jsonb_to_recordset(w.replays) AS r (cursor bigint, upto bigint, "fromBlock" numeric, "toBlock" numeric)
        WHERE e.sequence > r.cursor AND e.sequence <= r.upto
          AND (r."fromBlock" IS NULL OR e.block_number BETWEEN r."fromBlock" AND r."toBlock"))`;
  const count = input.eventId
    ? await replayOne(services, events, values)
    : await replayRange(services, id, events, values, blocks);
  if (count > 0) await wake(services, id);
  return count;
}

async function replayOne({ pool }: WebhookServices, events: string, values: unknown[]): Promise<number> {
  const { rowCount } = await pool.query(
    `WITH sent AS (INSERT INTO service.webhook_delivery (webhook_id, account_id, sequence, event_id, type, place)
       SELECT w.id, w.account_id, e.sequence, e.id, e.type, ${placeInSql} ${events} ORDER BY e.sequence LIMIT 1 RETURNING id)
     SELECT FROM sent`,
    values,
  );
  return rowCount ?? 0;
}

/** Stores a replay as one range of sequences, not a row per event. Times map to it; blocks need a condition as well. */
async function replayRange(
  { pool }: WebhookServices,
  id: string,
  events: string,
  values: unknown[],
  blocks: Replay["blocks"],
): Promise<number> {
  const { rows } = await pool.query<{ count: number; first: bigint | null; last: bigint | null }>(
    `SELECT count(*)::int, min(sequence) AS first, max(sequence) AS last FROM (
       SELECT e.sequence ${events} ORDER BY e.sequence LIMIT ${mostReplayed}) e`,
    values,
  );
  const { count, first, last } = rows[0] ?? { count: 0, first: null, last: null };
  if (first === null || last === null) return 0;
  const { rowCount } = await pool.query(
    `UPDATE service.webhook SET replays = replays || $2::jsonb
     WHERE id = $1 AND jsonb_array_length(replays) < ${mostWaiting.replays}`,
    [id, JSON.stringify(storedReplay({ cursor: first - 1n, ahead: [], upto: last, blocks }))],
  );
  if (rowCount) return count;
  throw new ServiceError(
    "plan_limit_exceeded",
    `${mostWaiting.replays} replays are under way for this endpoint; let its receiver catch up first`,
  );
}

/** During a handshake messages wait for the answer. Without a pending challenge they would wait for ever. */
function requireAsked(webhook: WebhookRow): void {
  if (!restsUnverified(webhook)) return;
  throw new ServiceError(
    "webhook_unverified",
    `${webhook.url.slice(0, 200)} has not answered its challenge; have it do so, and ask again with verify`,
  );
}

async function requireRoom({ pool }: Pick<WebhookServices, "pool">, id: string): Promise<void> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*)::int FROM (SELECT FROM service.webhook_delivery WHERE webhook_id = $1 AND state = 'pending'
       LIMIT ${mostWaiting.rows}) w`,
    [id],
  );
  if ((rows[0]?.count ?? 0) < mostWaiting.rows) return;
  throw new ServiceError(
    "plan_limit_exceeded",
    `${mostWaiting.rows} messages wait for this endpoint; let its receiver catch up, or delete the endpoint`,
  );
}

async function replayFailed(services: WebhookServices, id: string): Promise<number> {
  const { rowCount } = await services.pool.query(
    `UPDATE service.webhook_delivery SET state = 'pending', attempts = 0, next_at = clock_timestamp(), ended_at = NULL
     WHERE id IN (SELECT d.id FROM service.webhook_delivery d WHERE d.webhook_id = $1 AND d.state = 'dead'
       AND (d.body IS NOT NULL OR EXISTS (SELECT FROM service.event e WHERE e.sequence = d.sequence)) ORDER BY d.id LIMIT ${mostReplayed})`,
    [id],
  );
  await wake(services, id);
  return rowCount ?? 0;
}

/**
 * Sends an event that did not happen: an invented one, with `test: true` in its data.
 *
 * @param type see `sampleEvent`.
 * @returns its id.
 * @throws ServiceError `not_found`, `invalid_enumeration`, `webhook_unverified`; `plan_limit_exceeded` if many wait.
 */
export async function sendTestEvent(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  type = "webhook.test",
): Promise<string> {
  const webhook = await findWebhook(services, owner, id);
  const event = sampleEvent(type, `evt_${randomUUID().replaceAll("-", "")}`, new Date());
  if (!event)
    throw new ServiceError("invalid_enumeration", `type must be one of: ${sampleTypes.join(", ")}`, { field: "type" });
  requireAsked(webhook);
  await requireRoom(services, id);
  const body = JSON.stringify({ ...event, data: { ...event.data, webhook: id } });
  await services.pool.query(
    `INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, body, place)
     VALUES ($1, $2, $3, $4, $5, $4)`,
    [id, owner.accountId, event.data.id, type, body],
  );
  await wake(services, id);
  return event.data.id;
}

async function wake({ pool }: Pick<WebhookServices, "pool">, id: string): Promise<void> {
  // A worker that is serving it checks again when it is done, and a challenge keeps its time. Not in the WHERE clause:
  // that could see the row from before a worker released it.
  await pool.query(
    `UPDATE service.webhook SET next_due = CASE WHEN verified_at IS NOT NULL AND (lease_until IS NULL OR lease_until < clock_timestamp())
       THEN clock_timestamp() ELSE next_due END WHERE id = $1`,
    [id],
  );
  await pool.query("SELECT service.wake_webhooks()");
}
