import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { backoffMs } from "../backoff.ts";
import type { Chain } from "../chains.ts";
import { setTenant, withTenantScope } from "../db/tenancy/tenant.ts";
import { causeOf, type LogOnce } from "../telemetry/log-once.ts";
import { withoutSpan } from "../telemetry/span.ts";
import { type EventFilter, filterOf } from "./event-filter.ts";
import { chainNames, type EventRow, eventBody, type NameOfChain } from "./event-row.ts";
import { Notifications } from "./notifications.ts";
import { numberEvents, readAfter, readWhole } from "./read-events.ts";

/** One event, made once for all listeners. */
export interface FedEvent {
  row: EventRow;
  /** JSON text. */
  body: string;
}

interface Listener {
  /** Null: only events that everybody gets. */
  accountId: string | null;
  filter: EventFilter;
  take(event: FedEvent): void;
}

type Entry = Listener & { matches: (row: EventRow) => boolean };

interface FeedParts {
  pool: Pick<pg.Pool, "query">;
  /** Parameters of a separate connection, which waits for notifications while there are listeners. */
  connection: pg.ClientConfig;
  chains: readonly Chain[];
  logOnce: LogOnce;
}

const readAtOnce = 500;
/** Pause between two reads without a notification: the connection for notifications may be lost. */
const pollMs = 1_000;
/** How long the connection is kept without listeners. */
const lingerMs = 30_000;
const reconnect = { firstMs: 200, mostMs: 10_000 };

/**
 * Reads each committed event once for all listeners of this process. It only has a connection and reads the database
 * while there are listeners.
 */
export class EventFeed {
  readonly #parts: FeedParts;
  readonly nameOfChain: NameOfChain;
  readonly #entries = new Set<Entry>();
  /** All events up to this one were given to listeners. */
  #position = 0n;
  #running: Promise<void> | null = null;
  #started: Promise<void> | null = null;
  #wake: () => void = () => undefined;
  #woken = false;
  #closed = false;
  /** Statements that returned events, and events, for metrics. */
  readonly counts = { reads: 0, events: 0 };

  constructor(parts: FeedParts) {
    this.#parts = parts;
    this.nameOfChain = chainNames(parts.chains);
  }

  get position(): bigint {
    return this.#position;
  }

  toEvent(row: EventRow): FedEvent {
    return { row, body: eventBody(row, this.nameOfChain) };
  }

  /** Starts reading if it is not running. @returns when the position is that of the database. */
  async start(): Promise<void> {
    // It is about to end.
    while (this.#running && !this.#started) await this.#running;
    if (this.#closed) throw new Error("the feed is closed");
    if (!this.#running) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      this.#started = promise;
      promise.catch(() => undefined);
      // Outside of the request that happens to start it, with neither its tenant nor its trace span.
      this.#running = withoutSpan(() => withTenantScope(() => this.#run(resolve, reject))).finally(() => {
        this.#running = null;
      });
    }
    await this.#started;
  }

  /**
   * Gives a listener the events after the present position. Call `start` before.
   *
   * @returns a function that ends it.
   */
  listen(listener: Listener): () => void {
    const entry = { ...listener, matches: filterOf(listener.filter) };
    this.#entries.add(entry);
    if (!this.#started) void this.#startAgain();
    return () => this.#entries.delete(entry);
  }

  /** Restarts a feed that ended just before a listener was added: nothing else would start it for that listener. */
  async #startAgain(): Promise<void> {
    for (let failures = 0; !this.#started && this.#entries.size > 0 && !this.#closed; ) {
      try {
        return await this.start();
      } catch (error) {
        failures += 1;
        this.#parts.logOnce.write("warn", `events ${causeOf(error)}`, { err: error }, "events could not be read");
        await sleep(backoffMs(failures, reconnect));
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#notify();
    await this.#running;
  }

  #notify(): void {
    this.#woken = true;
    this.#wake();
  }

  async #run(ready: () => void, failed: (error: unknown) => void): Promise<void> {
    const connection = new Notifications(this.#parts.connection, ["mintyard_events"], () => this.#notify());
    try {
      await connection.open();
      const head = await numberEvents(this.#parts.pool);
      // Existing listeners continue where reading ended.
      if (this.#entries.size === 0) this.#position = head;
      ready();
    } catch (error) {
      await connection.close();
      this.#started = null;
      failed(error);
      return;
    }
    let idleSince: number | null = null;
    for (let failures = 0; !this.#closed; ) {
      this.#woken = false;
      try {
        await connection.open();
        await this.#readOn();
        failures = 0;
      } catch (error) {
        failures += 1;
        this.#parts.logOnce.write("warn", `events ${causeOf(error)}`, { err: error }, "events could not be read");
      }
      idleSince = this.#entries.size > 0 ? null : (idleSince ?? performance.now());
      if (idleSince !== null && performance.now() - idleSince > lingerMs) break;
      await this.#pause(failures > 0 ? backoffMs(failures, reconnect) : pollMs);
    }
    this.#started = null;
    await connection.close();
  }

  async #pause(ms: number): Promise<void> {
    if (this.#woken || this.#closed) return;
    const early = new AbortController();
    this.#wake = () => early.abort();
    await sleep(ms, undefined, { signal: early.signal }).catch(() => undefined);
    this.#wake = () => undefined;
  }

  async #readOn(): Promise<void> {
    const { pool } = this.#parts;
    const head = await numberEvents(pool);
    while (this.#position < head) {
      const rows = await readAfter(pool, this.#position, readAtOnce);
      this.counts.reads += 1;
      this.counts.events += rows.length;
      const whole = await this.#contentOf(rows);
      // Listeners get these events in the same turn of the event loop as the last read: a later one begins after them.
      for (const row of rows)
        this.#give(whole.get(row.sequence) ?? row, row.account_id !== null && !whole.has(row.sequence));
      const last = rows.at(-1)?.sequence ?? 0n;
      this.#position = rows.length < readAtOnce && head > last ? head : last;
    }
  }

  /**
   * Reads the events of accounts with listeners in this process, each with the rights of its account. An account that
   * gets a listener meanwhile is read too: it must not miss events after its beginning.
   */
  async #contentOf(rows: readonly EventRow[]): Promise<Map<bigint, EventRow>> {
    const whole = new Map<bigint, EventRow>();
    const read = new Set<string>();
    for (;;) {
      const here = new Set([...this.#entries].map(({ accountId }) => accountId));
      const next = rows.find(({ account_id: id }) => id !== null && here.has(id) && !read.has(id))?.account_id;
      if (next == null) return whole;
      read.add(next);
      const sequences = rows.filter(({ account_id }) => account_id === next).map(({ sequence }) => sequence);
      const own = await withTenantScope(async () => {
        setTenant(next);
        return await readWhole(this.#parts.pool, sequences);
      });
      for (const row of own) whole.set(row.sequence, row);
    }
  }

  #give(row: EventRow, withheld: boolean): void {
    if (withheld) return;
    let event: FedEvent | null = null;
    for (const entry of this.#entries) {
      if (row.account_id !== null && row.account_id !== entry.accountId) continue;
      if (!entry.matches(row)) continue;
      event ??= this.toEvent(row);
      entry.take(event);
    }
  }
}
