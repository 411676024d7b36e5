import { type Kysely, sql } from "kysely";
import type pg from "pg";
import { inTransaction } from "../db/connection.ts";
import type { Database } from "../db/database.ts";
import { filterOf } from "../outbox/event-filter.ts";
import type { EventRow } from "../outbox/event-row.ts";
import { numberEvents } from "../outbox/read-events.ts";
import type { Services } from "../services.ts";
import { filterOfRow, type WebhookRow } from "./webhook-record.ts";

const readAtOnce = 500;
/** Number of compared events that stay in memory. */
const kept = 2_000;

/** Advisory lock, also in `service.hold_matching`: exclusive to match events, shared to make or change an endpoint. */
export const webhookLock = 7_241_903_160;

/**
 * Prevents matching until the transaction has ended. So events that are committed later are matched with the endpoints
 * as the transaction leaves them.
 */
export async function holdMatching(transaction: Kysely<Database>): Promise<void> {
  await sql`SELECT service.hold_matching()`.execute(transaction);
}

/** Records in each endpoint's row up to which event messages wait: one row changes, however many events match. */
export class WebhookMatcher {
  readonly #services: Services;
  readonly #recent: RecentEvents;
  #matchers = new WebhookMatchers([]);
  #known = "";

  constructor(services: Services, recent: RecentEvents) {
    this.#services = services;
    this.#recent = recent;
  }

  /** @returns whether there is an endpoint that is not disabled. */
  async matchAll(): Promise<boolean> {
    await numberEvents(this.#services.pool);
    while (await this.#matchSome());
    return this.#matchers.size > 0;
  }

  /**
   * Reads the endpoints again when one was made, changed or deleted. The sum covers all changes, in whatever order they
   * were committed; the newest change alone would hide an older one that was committed later.
   *
   * @param client has the lock: no endpoint is being changed now.
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
    // If the transaction is rolled back, its events are matched again: the position is rolled back with it.
    const events = await inTransaction(this.#services.pool, async (client) => await this.#matchNext(client));
    this.#recent.add(events);
    return events.length === readAtOnce;
  }

  /** @returns the events that were compared with endpoints; none while another worker does it. */
  async #matchNext(client: pg.PoolClient): Promise<EventRow[]> {
    const lock = await client.query<{ held: boolean }>("SELECT pg_try_advisory_xact_lock($1) AS held", [webhookLock]);
    if (!lock.rows[0]?.held) return [];
    await this.#refresh(client);
    if (this.#matchers.size === 0) {
      await client.query(
        "UPDATE service.webhook_head w SET sequence = e.sequence FROM service.event_head e WHERE w.sequence < e.sequence",
      );
      return [];
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
    return events;
  }

  /**
   * The cursor of an endpoint without waiting events jumps to the first that matches. The statement has no condition on
   * columns that may change, so that it waits for a worker that is releasing the endpoint, and sees the released row.
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

/** The latest events that this process matched, without a gap, so that those sent at once need not be read again. */
export class RecentEvents {
  #rows: EventRow[] = [];

  /** Adds the events that were read next. If another process has read events in between, it starts again. */
  add(rows: readonly EventRow[]): void {
    const [first, last] = [rows[0], rows.at(-1)];
    if (!first || !last) return;
    const before = this.#rows.at(-1);
    if (before && first.sequence !== before.sequence + 1n) this.#rows = [];
    if (last.sequence - first.sequence !== BigInt(rows.length - 1)) return;
    this.#rows.push(...rows);
    if (this.#rows.length > kept) this.#rows = this.#rows.slice(-kept);
  }

  /** All events after one, up to another; null if some of them are not in memory. */
  between(after: bigint, upto: bigint): readonly EventRow[] | null {
    const [first, last] = [this.#rows[0], this.#rows.at(-1)];
    if (!first || !last || after + 1n < first.sequence || upto > last.sequence) return null;
    return this.#rows.slice(Number(after + 1n - first.sequence), Number(upto + 1n - first.sequence));
  }
}

interface Matcher {
  row: WebhookRow;
  matches: (event: EventRow) => boolean;
}

/** Whether an event may be sent to the owner of an endpoint. */
export function isFor({ account_id: owner }: Pick<WebhookRow, "account_id">, event: EventRow): boolean {
  if (event.for_operator) return owner === null;
  return event.account_id === null || event.account_id === owner;
}

/** As an SQL condition on `service.event e`; its parameters are appended to `values`. */
export function isForCondition({ account_id: owner }: Pick<WebhookRow, "account_id">, values: unknown[]): string {
  if (owner === null) return "(e.for_operator OR e.account_id IS NULL)";
  return `NOT e.for_operator AND (e.account_id IS NULL OR e.account_id = $${values.push(owner)})`;
}

/** Endpoints by what they can match: an event is only compared with those that name its contract or its account. */
class WebhookMatchers {
  readonly #ofAccount = new Map<string | null, Matcher[]>();
  readonly #ofContract = new Map<string, Matcher[]>();
  /** Endpoints without contracts in their filter. */
  readonly #others: Matcher[] = [];
  readonly #all: readonly Matcher[];

  constructor(rows: readonly WebhookRow[]) {
    this.#all = rows.map((row) => ({ row, matches: filterOf(filterOfRow(row)) }));
    for (const matcher of this.#all) {
      listOf(this.#ofAccount, matcher.row.account_id).push(matcher);
      if (matcher.row.contracts.length === 0) this.#others.push(matcher);
      for (const contract of new Set(matcher.row.contracts.map((bytes) => bytes.toString("latin1"))))
        listOf(this.#ofContract, contract).push(matcher);
    }
  }

  get size(): number {
    return this.#all.length;
  }

  of(event: EventRow): WebhookRow[] {
    const found: WebhookRow[] = [];
    for (const list of this.#candidates(event))
      for (const { row, matches } of list)
        if (event.sequence > row.since && isFor(row, event) && matches(event)) found.push(row);
    return found;
  }

  #candidates(event: EventRow): (readonly Matcher[])[] {
    if (event.for_operator) return [this.#ofAccount.get(null) ?? []];
    if (event.account_id !== null) return [this.#ofAccount.get(event.account_id) ?? []];
    // Events of a whole chain are not restricted by contracts.
    if (event.type.startsWith("chain.")) return [this.#all];
    return [this.#others, (event.contract && this.#ofContract.get(event.contract.toString("latin1"))) ?? []];
  }
}

function listOf<Key>(map: Map<Key, Matcher[]>, key: Key): Matcher[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}
