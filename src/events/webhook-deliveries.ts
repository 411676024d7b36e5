import { randomUUID } from "node:crypto";
import { ServiceError } from "../errors/errors.ts";
import { filterCondition } from "../outbox/event-filter.ts";
import { readPlace } from "./event-input.ts";
import { sampleEvent, sampleTypes } from "./sample-event.ts";
import type { WebhookOwner, WebhookServices } from "./webhook-owner.ts";
import { filterOfRow } from "./webhook-record.ts";
import { findWebhook } from "./webhooks.ts";

export interface DeliveryTry {
  attempt: number;
  at: Date;
  status: number | null;
  fault: string | null;
  milliseconds: number;
  answer: string | null;
}

/** One event on its way to one endpoint. */
export interface Delivery {
  id: string;
  eventId: string;
  type: string;
  sequence: string | null;
  state: "pending" | "delivered" | "dead";
  attempts: number;
  /** Of a pending one. */
  nextAt: Date | null;
  createdAt: Date;
  tries: DeliveryTry[];
}

const pageSize = 50;
/** Most events that one replay sends again. */
const mostReplayed = 10_000;
/** With so many deliveries waiting nothing is replayed: an account could fill the database with them. */
const mostPending = { ofEndpoint: 20_000, ofAccount: 100_000 };

/**
 * The newest deliveries of an endpoint, with their tries.
 *
 * @param before the id of the last one of the page before.
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
       coalesce((SELECT json_agg(json_build_object('attempt', t.attempt, 'at', t.at, 'status', t.status, 'fault', t.fault,
         'milliseconds', t.milliseconds, 'answer', t.answer) ORDER BY t.at)
         FROM service.webhook_try t WHERE t.delivery_id = d.id), '[]') AS tries
     FROM service.webhook_delivery d
     WHERE d.webhook_id = $1 AND ($2::text IS NULL OR d.state = $2) AND ($3::bigint IS NULL OR d.id < $3)
     ORDER BY d.id DESC LIMIT ${pageSize}`,
    [id, state ?? null, before === undefined ? null : String(readPlace(before))],
  );
  return rows.map((row) => ({
    ...row,
    tries: row.tries.map((one: DeliveryTry & { at: string }) => ({ ...one, at: new Date(one.at) })),
  })) as Delivery[];
}

/** What is to be sent again; one of them. */
export interface ReplayInput {
  /** One event, by its id. */
  eventId?: string | null | undefined;
  /** Events that were committed since. */
  since?: Date | null | undefined;
  until?: Date | null | undefined;
  /** Movements of these blocks, of every chain that the endpoint listens to. */
  fromBlock?: bigint | null | undefined;
  toBlock?: bigint | null | undefined;
  /** All that was given up. */
  failed?: boolean | null | undefined;
}

/** `placeOf` (match-webhooks.ts) in SQL: what is replayed keeps its order with what comes. */
const placeInSql = `CASE WHEN e.account_id IS NOT NULL THEN split_part(e.type, '.', 1) || ':' || coalesce(e.data->>'object', e.id)
  WHEN e.contract IS NOT NULL THEN e.chain_id || ':' || encode(e.contract, 'hex') ELSE e.type END`;

/**
 * Sends events again: with the same ids and bodies, so that a receiver can tell them from new ones. Those that the
 * endpoint's filter matches and that are kept still.
 *
 * @returns how many; those that wait already are not counted.
 * @throws ServiceError `not_found`, `parameter_missing`; `plan_limit_exceeded` while too many wait.
 */
export async function replay(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  input: ReplayInput,
): Promise<number> {
  const webhook = await findWebhook(services, owner, id);
  await requireRoom(services, owner, id);
  if (input.failed) return await replayFailed(services, id);
  const values: unknown[] = [id, owner.accountId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = [
    filterCondition(filterOfRow(webhook), values),
    `e.for_operator = ${parameter(owner.accountId === null)}`,
  ];
  const asked = conditions.length;
  if (input.eventId) conditions.push(`e.id = ${parameter(input.eventId)}`);
  if (input.since) conditions.push(`e.at >= ${parameter(input.since)}`);
  if (input.since && input.until) conditions.push(`e.at < ${parameter(input.until)}`);
  if (input.fromBlock != null && input.toBlock != null)
    conditions.push(
      `e.block_number BETWEEN ${parameter(String(input.fromBlock))} AND ${parameter(String(input.toBlock))}`,
    );
  if (conditions.length === asked)
    throw new ServiceError("parameter_missing", "give an eventId, since, fromBlock and toBlock, or failed", {
      field: "eventId",
    });
  const { rowCount } = await services.pool.query(
    `WITH sent AS (INSERT INTO service.webhook_delivery (webhook_id, account_id, sequence, event_id, type, place)
       SELECT $1, $2, e.sequence, e.id, e.type, ${placeInSql}
       FROM service.event e WHERE ${conditions.join(" AND ")}
         AND NOT EXISTS (SELECT FROM service.webhook_delivery d
           WHERE d.webhook_id = $1 AND d.sequence = e.sequence AND d.state = 'pending')
       ORDER BY e.sequence LIMIT ${mostReplayed} RETURNING id)
     SELECT FROM sent`,
    values,
  );
  await wake(services, id);
  return rowCount ?? 0;
}

async function requireRoom({ pool }: Pick<WebhookServices, "pool">, owner: WebhookOwner, id: string): Promise<void> {
  const { rows } = await pool.query<{ own: number; all: number }>(
    `SELECT (SELECT count(*)::int FROM (SELECT FROM service.webhook_delivery
         WHERE webhook_id = $1 AND state = 'pending' LIMIT ${mostPending.ofEndpoint}) o) AS own,
       (SELECT count(*)::int FROM (SELECT FROM service.webhook w JOIN service.webhook_delivery d ON d.webhook_id = w.id
         WHERE w.account_id IS NOT DISTINCT FROM $2 AND d.state = 'pending' LIMIT ${mostPending.ofAccount}) a) AS "all"`,
    [id, owner.accountId],
  );
  const { own = 0, all = 0 } = rows[0] ?? {};
  if (own < mostPending.ofEndpoint && all < mostPending.ofAccount) return;
  throw new ServiceError(
    "plan_limit_exceeded",
    `${own} deliveries wait for this endpoint and ${all} for the account; let its receivers catch up, or delete the endpoint`,
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
 * Sends one event that did not happen: an invented one, with `test: true` in its data.
 *
 * @param type see `sampleEvent`.
 * @returns its id.
 * @throws ServiceError `not_found`, `invalid_enumeration`; `plan_limit_exceeded` while too many wait.
 */
export async function sendTestEvent(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  type = "webhook.test",
): Promise<string> {
  await findWebhook(services, owner, id);
  const event = sampleEvent(type, `evt_${randomUUID().replaceAll("-", "")}`, new Date());
  if (!event)
    throw new ServiceError("invalid_enumeration", `type must be one of: ${sampleTypes.join(", ")}`, { field: "type" });
  await requireRoom(services, owner, id);
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
  // A worker that sends to it now looks again when it is done. No condition: it would be about the row as it was before a
  // worker that is just giving it back.
  await pool.query(
    `UPDATE service.webhook SET next_due = CASE WHEN lease_until IS NULL OR lease_until < clock_timestamp()
       THEN clock_timestamp() ELSE next_due END WHERE id = $1`,
    [id],
  );
  await pool.query("SELECT service.wake_webhooks()");
}
