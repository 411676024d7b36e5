import type pg from "pg";
import { filterOf } from "../outbox/event-filter.ts";
import type { EventRow } from "../outbox/event-row.ts";
import { numberEvents } from "../outbox/read-events.ts";
import type { Services } from "../services.ts";
import { webhookLock } from "./webhook-lock.ts";
import { filterOfRow, type WebhookRow } from "./webhook-record.ts";

const readAtOnce = 500;

interface Matcher {
  row: WebhookRow;
  matches: (event: EventRow) => boolean;
}

/** Turns committed events into deliveries, each event once. */
export class WebhookMatcher {
  readonly #services: Services;
  #matchers: readonly Matcher[] = [];
  #known = "";

  constructor(services: Services) {
    this.#services = services;
  }

  /** @returns whether anybody has an endpoint that is not disabled. */
  async matchAll(): Promise<boolean> {
    await numberEvents(this.#services.pool);
    while (await this.#matchSome());
    return this.#matchers.length > 0;
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
    this.#matchers = found.rows.map((row) => ({ row, matches: filterOf(filterOfRow(row)) }));
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
      if (this.#matchers.length === 0) {
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
        const made = events.flatMap((event) => this.#deliveriesOf(event));
        if (made.length > 0) {
          await client.query(
            `INSERT INTO service.webhook_delivery (webhook_id, account_id, sequence, event_id, type, place)
             SELECT w.id, w.account_id, m.sequence, m.event_id, m.type, m.place
             FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS m (webhook_id, sequence, event_id, type, place)
             JOIN service.webhook w ON w.id = m.webhook_id ORDER BY m.sequence`,
            [
              made.map(({ webhook }) => webhook),
              made.map(({ event }) => String(event.sequence)),
              made.map(({ event }) => event.id),
              made.map(({ event }) => event.type),
              made.map(({ event }) => placeOf(event)),
            ],
          );
          const matched = [[...new Set(made.map(({ webhook }) => webhook))]];
          // By a statement of its own: the next one sees how the rows are once they are locked. In one statement it would
          // go by how they were before, and miss an endpoint that is given back meanwhile.
          await client.query("SELECT FROM service.webhook WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE", matched);
          await client.query(
            `UPDATE service.webhook w SET next_due = least(w.next_due, clock_timestamp())
             WHERE w.id = ANY ($1) AND (w.lease_until IS NULL OR w.lease_until < clock_timestamp())
               AND (w.failures = 0 OR w.next_due IS NULL)`,
            matched,
          );
        }
        await client.query("UPDATE service.webhook_head SET sequence = $1", [String(last.sequence)]);
      }
      await client.query("COMMIT");
      failed = false;
      return events.length === readAtOnce;
    } finally {
      // What is lost of a transaction is made again: the position goes back with it.
      client.release(failed);
    }
  }

  #deliveriesOf(event: EventRow): { webhook: string; event: EventRow }[] {
    return this.#matchers
      .filter(
        ({ row, matches }) =>
          event.sequence > row.since &&
          (event.for_operator
            ? row.account_id === null
            : event.account_id === null || event.account_id === row.account_id) &&
          matches(event),
      )
      .map(({ row }) => ({ webhook: row.id, event }));
  }
}

/** What is in order: the movements of a contract, and the states of one object of the relay. */
function placeOf(event: EventRow): string {
  if (event.account_id !== null) return `${event.type.split(".")[0]}:${String(event.data?.["object"] ?? event.id)}`;
  return event.contract ? `${event.chain_id}:${event.contract.toString("hex")}` : event.type;
}
