import { type Kysely, sql } from "kysely";
import { writeAudit } from "../auth/audit.ts";
import type { Database } from "../db/database.ts";
import type { WebhookState } from "../db/tables/events.ts";
import { ServiceError } from "../errors/errors.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { wantEvents } from "../outbox/read-events.ts";
import { newSecret, newSigningKey, seal, secretText } from "../outbox/sign-webhook.ts";
import { int } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { columnsOf, readDescription, readFilterFor, readUrl, type WebhookInput } from "./event-input.ts";
import { holdMatching } from "./match-webhooks.ts";
import {
  filterOfRow,
  needsHandshake,
  ownedBy,
  toWebhook,
  type Webhook,
  type WebhookOwner,
  type WebhookRow,
  type WebhookServices,
} from "./webhook-record.ts";

/** How long events of an endpoint's filter are recorded; the worker renews it as long as the endpoint exists. */
const webhookInterestSeconds = 2 * 86_400;
/** On any plan. */
const mostWebhooks = 1_000;
const overlapBounds = { seconds: 86_400, most: 7 * 86_400 };

export const rotateFields = {
  overlapSeconds: int({
    ...{ v0: ["overlapSeconds"], max: overlapBounds.most, default: overlapBounds.seconds },
    doc: "How long messages are also signed with the old secret, in seconds: 0 to 604800 (7 days), one day by default.",
  }),
} as const;

/** An endpoint with its secret, which only this answer shows. */
export interface WebhookWithSecret {
  webhook: Webhook;
  /** `whsec_…` */
  secret: string;
}

const now = sql<Date>`clock_timestamp()` as never;
/** At once, or when the worker that is serving it has ended: a second worker would send the same messages. */
const dueNow = sql<Date>`CASE WHEN lease_until IS NULL OR lease_until < clock_timestamp()
  THEN clock_timestamp() ELSE next_due END` as never;
/** State of an endpoint that is to get a challenge. */
const asked = { challenges: 0, next_due: dueNow };
const unverified = { ...asked, verified_at: null, challenge_try: null, held: "verification" };

/**
 * Makes an endpoint. It gets events from now on, once it has answered a challenge.
 *
 * @throws ServiceError as `readFilter`; `parameter_missing` and `value_error` for the URL; `plan_limit_exceeded`.
 */
export async function createWebhook(
  services: WebhookServices,
  owner: WebhookOwner,
  input: WebhookInput,
): Promise<WebhookWithSecret> {
  const filter = readFilterFor(services, owner, input);
  const url = readUrl(services, owner, input.url);
  const secret = newSecret();
  const pepper = services.config.keyPepper;
  await want(services, filter);
  const row = await services.db.transaction().execute(async (transaction) => {
    // Serialises requests of one account, so that the count of its endpoints is exact.
    await sql`SELECT FROM service.account WHERE id = ${owner.accountId} FOR NO KEY UPDATE`.execute(transaction);
    const { count } = await transaction
      .selectFrom("service.webhook")
      .select(({ fn }) => fn.countAll<bigint>().as("count"))
      .where(ownedBy(owner))
      .executeTakeFirstOrThrow();
    const most = owner.plan?.maxWebhooks ?? mostWebhooks;
    if (count >= most)
      throw new ServiceError(
        "plan_limit_exceeded",
        `your plan includes ${most} endpoints; delete one first, or change the plan`,
      );
    await holdMatching(transaction);
    const made = await transaction
      .insertInto("service.webhook")
      .values({
        account_id: owner.accountId,
        ...{ url, description: readDescription(input.description) ?? "", ...columnsOf(filter) },
        secret: seal(secret, pepper),
        signing_key: seal(newSigningKey(), pepper),
        since: sql<bigint>`(SELECT sequence FROM service.event_head)` as never,
        ...(needsHandshake(services.config, owner.accountId) ? { ...unverified, next_due: now } : {}),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await writeAudit(transaction, entryOf(owner, "create", made.id, { url, finality: filter.finality }));
    return made;
  });
  return { webhook: toWebhook(services, row), secret: secretText(secret) };
}

export async function listWebhooks(services: WebhookServices, owner: WebhookOwner): Promise<Webhook[]> {
  const rows = await services.db
    .selectFrom("service.webhook")
    .selectAll()
    .where(ownedBy(owner))
    .orderBy("created_at")
    .limit(mostWebhooks)
    .execute();
  return rows.map((row) => toWebhook(services, row));
}

/** @throws ServiceError `not_found`. */
export async function getWebhook(services: WebhookServices, owner: WebhookOwner, id: string): Promise<Webhook> {
  return toWebhook(services, await findWebhook(services, owner, id));
}

/** @throws ServiceError `not_found`. */
export async function findWebhook(
  { db }: Pick<WebhookServices, "db">,
  owner: WebhookOwner,
  id: string,
): Promise<WebhookRow> {
  const row = await db
    .selectFrom("service.webhook")
    .selectAll()
    .where(ownedBy(owner))
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? missing(id);
}

/**
 * Changes the given members; lists are replaced as a whole.
 *
 * @throws ServiceError as `createWebhook`; `not_found`.
 */
export async function changeWebhook(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  input: WebhookInput,
): Promise<Webhook> {
  const before = toWebhook(services, await findWebhook(services, owner, id));
  const filter = readFilterFor(services, owner, {
    ...before,
    ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)),
  });
  await want(services, filter);
  const url = input.url === undefined ? before.url : readUrl(services, owner, input.url);
  const description = readDescription(input.description) ?? before.description;
  // The new server may be slow, and somebody else's.
  const anew = needsHandshake(services.config, owner.accountId) ? unverified : {};
  const fresh = url === before.url ? {} : { proven: false, slow: false, ...anew };
  return await change(services, owner, id, "change", { url, description, ...columnsOf(filter), ...fresh });
}

/** Pauses sending; events meanwhile wait, as long as they are kept. @throws ServiceError `not_found`. */
export async function pauseWebhook(services: WebhookServices, owner: WebhookOwner, id: string): Promise<Webhook> {
  return await change(services, owner, id, "pause", { state: "paused" as WebhookState });
}

/**
 * Resumes sending, also after it was disabled: from where it stopped, as far as events are kept.
 *
 * @throws ServiceError `not_found`.
 */
export async function resumeWebhook(services: WebhookServices, owner: WebhookOwner, id: string): Promise<Webhook> {
  const before = await findWebhook(services, owner, id);
  // For an endpoint that was disabled for long they are no longer recorded.
  await want(services, filterOfRow(before));
  const columns = {
    ...{ state: "enabled" as WebhookState, disabled_reason: null, failures: 0, failing_since: null },
    // Disabled endpoints are not matched, so all events matched meanwhile have to be scanned.
    ...(before.state === "disabled" ? { wanted: sql<bigint>`service.webhooks_matched()` as never } : {}),
    ...asked,
  };
  return await change(services, owner, id, "resume", columns, async (transaction) => {
    if (before.state === "disabled") await noteMissed(transaction, before, services.config.eventDays);
  });
}

/**
 * Sends a new challenge to an endpoint; one that is verified is left as it is.
 *
 * @throws ServiceError `not_found`.
 */
export async function verifyWebhook(services: WebhookServices, owner: WebhookOwner, id: string): Promise<Webhook> {
  const before = await findWebhook(services, owner, id);
  if (before.verified_at !== null) return toWebhook(services, before);
  return await change(services, owner, id, "verify", asked);
}

/** Events are kept for some days. If the endpoint was disabled for longer, a delivery reports that some are gone. */
async function noteMissed(transaction: Kysely<Database>, { id, disabled_at: since }: WebhookRow, days: number) {
  await sql`INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, place, state, ended_at, tries)
    SELECT w.id, w.account_id, 'expired_' || (w.cursor + 1), 'events.expired', 'events.expired', 'dead', clock_timestamp(),
      jsonb_build_array(jsonb_build_object('attempt', 0, 'at', clock_timestamp(), 'status', NULL, 'fault', 'expired',
        'milliseconds', 0, 'answer', concat('it was disabled for longer than events are kept: from event ', w.cursor + 1, ' on some are gone')))
    FROM service.webhook w WHERE w.id = ${id} AND ${since}::timestamptz < clock_timestamp() - ${days} * interval '1 day'`.execute(
    transaction,
  );
}

/** @throws ServiceError `not_found`. */
export async function deleteWebhook(services: WebhookServices, owner: WebhookOwner, id: string): Promise<Webhook> {
  return await services.db.transaction().execute(async (transaction) => {
    const row = await transaction
      .deleteFrom("service.webhook")
      .where(ownedBy(owner))
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirst();
    if (!row) return missing(id);
    await writeAudit(transaction, entryOf(owner, "delete", id, { url: row.url }));
    return toWebhook(services, row);
  });
}

/**
 * Messages are signed with both secrets until the overlap is over, so that receivers can be changed one by one.
 *
 * @throws ServiceError `not_found`, `value_error`.
 */
export async function rotateWebhookSecret(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  overlapSeconds: number = overlapBounds.seconds,
): Promise<WebhookWithSecret> {
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > overlapBounds.most)
    throw new ServiceError("value_error", `overlapSeconds must be from 0 to ${overlapBounds.most}`, {
      field: "overlapSeconds",
    });
  const secret = newSecret();
  const webhook = await change(services, owner, id, "rotate", {
    previous_secret: sql<Buffer>`secret` as never,
    previous_until: sql<Date>`clock_timestamp() + ${overlapSeconds} * interval '1 second'` as never,
    secret: seal(secret, services.config.keyPepper),
  });
  return { webhook, secret: secretText(secret) };
}

async function change(
  services: WebhookServices,
  owner: WebhookOwner,
  id: string,
  action: string,
  columns: Partial<WebhookRow>,
  first: (transaction: Kysely<Database>) => Promise<void> = async () => undefined,
): Promise<Webhook> {
  return await services.db.transaction().execute(async (transaction) => {
    await holdMatching(transaction);
    await first(transaction);
    const row = await transaction
      .updateTable("service.webhook")
      .set({ ...columns, changed_at: sql<Date>`clock_timestamp()` } as never)
      .where(ownedBy(owner))
      .where("id", "=", id)
      .returningAll()
      .executeTakeFirst();
    if (!row) return missing(id);
    await writeAudit(transaction, entryOf(owner, action, id, { url: row.url, state: row.state }));
    await sql`SELECT service.wake_webhooks()`.execute(transaction);
    return toWebhook(services, row);
  });
}

async function want(services: Pick<WebhookServices, "chains" | "pool">, filter: EventFilter): Promise<void> {
  const chains = services.chains.map(({ id }) => id);
  await wantEvents(services.pool, filter, chains, webhookInterestSeconds);
}

/** Renews the recording of events for all endpoints; for a disabled one as long as it could resume without a gap. */
export async function renewInterests(services: Services): Promise<void> {
  const rows = await services.db
    .selectFrom("service.webhook")
    .selectAll()
    .where(
      sql<boolean>`state <> 'disabled' OR disabled_at > clock_timestamp() - ${services.config.eventDays} * interval '1 day'`,
    )
    .execute();
  for (const row of rows) await want(services, filterOfRow(row));
}

function entryOf(owner: WebhookOwner, action: string, id: string, after: unknown) {
  const actor = owner.actor ?? (owner.keyId ? `key:${owner.keyId}` : `account:${owner.accountId}`);
  return { actor, requestId: owner.requestId, action, object: `webhook:${id}`, after };
}

function missing(id: string): never {
  throw new ServiceError("not_found", `there is no endpoint ${id.slice(0, 80)}`);
}
