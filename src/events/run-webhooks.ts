import type pg from "pg";
import { inTransaction } from "../db/connection.ts";
import { createPoster, type Poster } from "../outbound/post.ts";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";
import { causeOf } from "../telemetry/log-once.ts";
import {
  claimWebhooks,
  holdForStorage,
  type Lane,
  lanes,
  latePlaces,
  serveWebhook,
  webhookPlaces,
} from "./deliver-webhooks.ts";
import { HostRates } from "./host-rates.ts";
import { RecentEvents, WebhookMatcher } from "./match-webhooks.ts";
import { type Item, readDueRows, readWaiting } from "./read-waiting.ts";
import { challengeWebhook, takeUnverified } from "./verify-webhooks.ts";
import { allowsPrivate, type ClaimedWebhook, type WebhookRow } from "./webhook-record.ts";
import { renewInterests } from "./webhooks.ts";

/** Interval of checks for due retries and, while there is no endpoint, for events whose notification was lost. */
const pace = { periodMs: 1_000, rests: true };
const upkeepMs = 600_000;

/** Sends events to endpoints until the signal aborts, and drops events that are too old. */
export async function runWebhooks(services: Services, rounds: Rounds): Promise<void> {
  const { config, log } = services;
  const posters = {
    ofAccounts: createPoster({ allowPrivate: allowsPrivate(config, "") }),
    ofOperator: createPoster({ allowPrivate: allowsPrivate(config, null) }),
  };
  const recent = new RecentEvents();
  const matcher = new WebhookMatcher(services, recent);
  const serving = new Serving(services, posters, recent, rounds);
  let kept = Number.NEGATIVE_INFINITY;
  let isUsed = false;
  const round = async () => {
    if (performance.now() - kept > upkeepMs) {
      kept = performance.now();
      await renewInterests(services);
      if (!config.webhooks.handshake) await takeUnverified(services);
      const dropped = await keepEvents(services);
      if (dropped > 0) log.info({ partitions: dropped }, "dropped events that are too old");
    }
    isUsed = await matcher.matchAll();
    rounds.eventsWanted = isUsed;
    if (isUsed) await serving.begin();
    return isUsed ? "soon" : "rest";
  };
  // While there are endpoints, an event is sent at once.
  await rounds.repeat(round, { ...pace, eager: () => isUsed }, { log, failing: "webhooks could not be sent" });
  await serving.end();
  for (const poster of Object.values(posters)) await poster.close();
}

/** The endpoints that this process is serving. */
class Serving {
  readonly #services: Services;
  readonly #posters: { ofAccounts: Poster; ofOperator: Poster };
  readonly #recent: RecentEvents;
  readonly #rounds: Rounds;
  readonly #rates = new HostRates();
  readonly #running: Record<Lane, Map<string, WebhookRow>> = { quick: new Map(), fresh: new Map(), slow: new Map() };
  /** Endpoints that freed their slot before they ended. */
  readonly #late = new Map<string, WebhookRow>();
  readonly #works = new Set<Promise<void>>();

  constructor(
    services: Services,
    posters: { ofAccounts: Poster; ofOperator: Poster },
    recent: RecentEvents,
    rounds: Rounds,
  ) {
    this.#services = services;
    this.#posters = posters;
    this.#recent = recent;
    this.#rounds = rounds;
  }

  /** Claims as many endpoints as there are free slots, and starts to serve them. */
  async begin(): Promise<void> {
    const { full: marks } = await this.#services.disk.status();
    const full = marks.some((mark) => mark !== "free_accounts");
    if (full) await holdForStorage(this.#services);
    for (const lane of lanes) while (await this.#claim(lane, full));
  }

  /** @returns whether there may be more to claim. */
  async #claim(lane: Lane, full: boolean): Promise<boolean> {
    const { all, ofAccount } = webhookPlaces[lane];
    // A claim may be for one account only, which has at most half of its slots taken: the other half is enough.
    const most = Math.floor(ofAccount / 2);
    const limit = Math.min(all - this.#running[lane].size, most);
    if (limit <= 0) return false;
    const claimed = await claimWebhooks(this.#services, lane, limit, { busy: this.#busyAccounts(lane, most), full });
    if (claimed.length === 0) return false;
    const due = await readDueRows(
      this.#services,
      claimed.filter((row) => row.verified_at !== null),
    );
    for (const row of claimed) this.#serve(lane, row, due.get(row.id) ?? []);
    return claimed.length === limit;
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#works);
  }

  #serve(lane: Lane, row: ClaimedWebhook, due: readonly Item[]): void {
    const running = this.#running[lane];
    running.set(row.id, row);
    const poster = row.account_id === null ? this.#posters.ofOperator : this.#posters.ofAccounts;
    const late = setTimeout(() => this.#giveUpPlace(lane, row), latePlaces.afterMs);
    const how = { lane, rates: this.#rates, signal: this.#rounds.signal };
    const send = async () => {
      if (row.verified_at === null) return await challengeWebhook(this.#services, poster, row, how);
      const waiting = await readWaiting(this.#services, this.#recent, row, due);
      await serveWebhook(this.#services, poster, row, waiting, how);
    };
    const work = send()
      .catch((error: unknown) => {
        // The claim expires, and the deliveries are repeated: delivery is at least once.
        this.#services.logOnce.write(
          "warn",
          `webhook ${causeOf(error)}`,
          { err: error, webhook: row.id },
          "a delivery could not be noted",
        );
      })
      .finally(() => {
        clearTimeout(late);
        running.delete(row.id);
        this.#late.delete(row.id);
        this.#works.delete(work);
        this.#rounds.wake();
      });
    this.#works.add(work);
  }

  #giveUpPlace(lane: Lane, row: WebhookRow): void {
    if (lane === "slow" || this.#late.size >= latePlaces.all) return;
    const own = [...this.#late.values()].filter(({ account_id: account }) => account === row.account_id);
    if (own.length >= latePlaces.ofAccount) return;
    this.#running[lane].delete(row.id);
    this.#late.set(row.id, row);
    this.#rounds.wake();
  }

  /** Accounts with more than `most` slots. */
  #busyAccounts(lane: Lane, most: number): string[] {
    const counts = new Map<string, number>();
    for (const { account_id } of this.#running[lane].values())
      if (account_id !== null) counts.set(account_id, (counts.get(account_id) ?? 0) + 1);
    return [...counts].filter(([, count]) => count > most).map(([account]) => account);
  }
}

/**
 * Creates the partitions of today and tomorrow, and drops those older than `EVENT_DAYS`.
 *
 * @returns how many partitions were dropped.
 */
export async function keepEvents({ pool, config }: Pick<Services, "pool" | "config">): Promise<number> {
  const days = config.eventDays;
  await pool.query(
    "SELECT service.make_event_day((clock_timestamp() AT TIME ZONE 'UTC')::date + d) FROM generate_series(0, 1) d",
  );
  const { rows } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'service.event'::regclass AND c.relname ~ '^event_\\d{8}$'
       AND to_date(right(c.relname, 8), 'YYYYMMDD') < (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer`,
    [days],
  );
  for (const { name } of rows) await drop(pool, name, `DROP TABLE service.${name}`);
  const old = `clock_timestamp() - ${Number(days)} * interval '1 day'`;
  await drop(pool, "event_default", `DELETE FROM service.event_default WHERE at < ${old}`, `at < ${old}`);
  await pool.query(`DELETE FROM service.event_retraction WHERE at < ${old}`);
  await pool.query("DELETE FROM service.event_interest WHERE expires_at < clock_timestamp() - interval '1 hour'");
  await pool.query(`DELETE FROM service.webhook_delivery WHERE ended_at < ${old}`);
  // Deliveries of paused or disabled endpoints: their event is dropped, so they can never be sent.
  await pool.query(
    `UPDATE service.webhook_delivery SET state = 'dead', ended_at = clock_timestamp(), tries = tries || jsonb_build_object(
       'attempt', attempts, 'at', clock_timestamp(), 'status', NULL, 'fault', 'expired', 'milliseconds', 0, 'answer', NULL)
     WHERE state = 'pending' AND created_at < ${old}`,
  );
  return rows.length;
}

/**
 * Drops events. An endpoint that still waits for some of them continues after them, and its deliveries show which it
 * missed. Its row is updated last, in the same lock order as matching: events before endpoints.
 */
async function drop(pool: pg.Pool, table: string, statement: string, which = "true"): Promise<void> {
  const { rows } = await pool.query<{ last: bigint | null }>(
    `SELECT max(sequence) AS last FROM service.${table} WHERE ${which}`,
  );
  const last = rows[0]?.last ?? null;
  await inTransaction(pool, async (client) => {
    await client.query(statement);
    if (last !== null)
      await client.query(
        `WITH late AS (
           SELECT id, account_id, cursor, least(wanted, $1) AS upto FROM service.webhook
           WHERE wanted > cursor AND cursor < $1 FOR NO KEY UPDATE),
         moved AS (UPDATE service.webhook w SET cursor = l.upto, ahead = '{}' FROM late l WHERE w.id = l.id)
         INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, place, state, ended_at, tries)
           SELECT id, account_id, concat('expired_', cursor + 1, '_', upto), 'events.expired', 'events.expired', 'dead', clock_timestamp(),
             jsonb_build_array(jsonb_build_object('attempt', 0, 'at', clock_timestamp(), 'status', NULL, 'fault', 'expired',
               'milliseconds', 0, 'answer', concat('events ', cursor + 1, ' to ', upto, ' were dropped before they could be sent')))
           FROM late`,
        [String(last)],
      );
  });
}
