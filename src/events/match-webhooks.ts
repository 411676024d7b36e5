import type pg from "pg";
import type { EventRow } from "../outbox/event-row.ts";
import { numberEvents } from "../outbox/read-events.ts";
import type { Services } from "../services.ts";
import type { RecentEvents } from "./recent-events.ts";
import { webhookLock } from "./webhook-lock.ts";
import { WebhookMatchers } from "./webhook-matchers.ts";
import type { WebhookRow } from "./webhook-record.ts";

const readAtOnce = 500;

/** Tells endpoints up to which event something waits for them. However many events match one, it is one row that changes. */
export class WebhookMatcher {
  readonly #services: Services;
  readonly #recent: RecentEvents;
  #matchers = new WebhookMatchers([]);
  #known = "";

  constructor(services: Services, recent: RecentEvents) {
    this.#services = services;
    this.#recent = recent;
  }

  /** @returns whether anybody has an endpoint that is not disabled. */
  async matchAll(): Promise<boolean> {
    await numberEvents(this.#services.pool);
    while (await this.#matchSome());
    return this.#matchers.size > 0;
  }

  /**
   * Reads the endpoints anew when one was made, changed or deleted. The sum is of all changes, in whatever order they were
   * committed; the newest one alone would hide an older one that was committed later.
   *
   * @param client holds the lock: no endpoint is being changed now.
   */
  async #refresh(client: pg.PoolClient): Promise<void> {
    const { rows } = await client.query<{ state: string }>(
      "SELECT concat_ws(' ', count(*), sum(extract(epoch FROM changed_at))) AS state FROM service.webhook",
    );
    const state = rows[0]?.state ?? "";
    if (state === this.#known) return;
    const found = await client.query<WebhookRow>("SELECT * FROM service.webhook WHERE state <> 'disabled'");
    this.#matchers = new WebhookMatchers(found.rows);
    this.#known = state;
  }

  /** @returns whether there may be more. */
  async #matchSome(): Promise<boolean> {
    const client = await this.#services.pool.connect();
    let failed = true;
    try {
      await client.query("BEGIN");
      const lock = await client.query<{ held: boolean }>("SELECT pg_try_advisory_xact_lock($1) AS held", [webhookLock]);
      if (!lock.rows[0]?.held) {
        await client.query("COMMIT");
        failed = false;
        return false;
      }
      await this.#refresh(client);
      if (this.#matchers.size === 0) {
        await client.query(
          "UPDATE service.webhook_head w SET sequence = e.sequence FROM service.event_head e WHERE w.sequence < e.sequence",
        );
        await client.query("COMMIT");
        failed = false;
        return false;
      }
      const { rows: events } = await client.query<EventRow>(
        `SELECT e.* FROM service.webhook_head h, service.event e WHERE e.sequence > h.sequence ORDER BY e.sequence LIMIT $1`,
        [readAtOnce],
      );
      const last = events.at(-1);
      if (last) {
        await this.#want(client, events);
        await client.query("UPDATE service.webhook_head SET sequence = $1", [String(last.sequence)]);
      }
      await client.query("COMMIT");
      failed = false;
      this.#recent.add(events);
      return events.length === readAtOnce;
    } finally {
      // What is lost of a transaction is made again: the position goes back with it.
      client.release(failed);
    }
  }

  /**
   * An endpoint for which nothing waits goes to the first event that it matches, and not over all between. The statement has
   * no condition on what may change: it waits for whoever gives an endpoint back, and sees what that left.
   */
  async #want(client: pg.PoolClient, events: readonly EventRow[]): Promise<void> {
    const wanted = new Map<string, { first: bigint; last: bigint }>();
    for (const event of events)
      for (const { id } of this.#matchers.of(event)) {
        const range = wanted.get(id);
        if (range) range.last = event.sequence;
        else wanted.set(id, { first: event.sequence, last: event.sequence });
      }
    if (wanted.size === 0) return;
    const ranges = [...wanted.values()];
    await client.query(
      `UPDATE service.webhook w SET wanted = greatest(w.wanted, m.last),
         cursor = CASE WHEN w.cursor >= w.wanted THEN greatest(w.cursor, m.first - 1) ELSE w.cursor END,
         -- A claim that lasts looks again when it ends. One that failed, or is held, keeps its pause; so does one that has not
         -- answered its challenge.
         next_due = CASE WHEN w.lease_until >= clock_timestamp() OR w.verified_at IS NULL THEN w.next_due
           WHEN w.failures = 0 AND w.held IS NULL THEN least(w.next_due, clock_timestamp())
           ELSE coalesce(w.next_due, clock_timestamp()) END
       FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS m (id, first, last) WHERE w.id = m.id`,
      [[...wanted.keys()], ranges.map(({ first }) => String(first)), ranges.map(({ last }) => String(last))],
    );
  }
}
