import type pg from "pg";
import type { Logger } from "../telemetry/log.ts";

const flushMs = 1_000;

/**
 * Counts requests per account in memory and adds them to the database about once a second: a write per request would
 * cost more than most requests. A killed process loses at most its last second.
 */
export class UsageCounter {
  readonly #pool: pg.Pool;
  readonly #log: Logger;
  #counts = new Map<string, number>();
  #keys = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(pool: pg.Pool, log: Logger) {
    this.#pool = pool;
    this.#log = log;
  }

  add(accountId: string, keyId: string, requests: number): void {
    this.#counts.set(accountId, (this.#counts.get(accountId) ?? 0) + requests);
    this.#keys.add(keyId);
    this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
  }

  /** Requests counted by this process but not stored yet. */
  pending(accountId: string): number {
    return this.#counts.get(accountId) ?? 0;
  }

  /** Stores everything counted so far. Never fails: what cannot be stored stays counted. */
  async flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#store());
    await this.#flushing;
  }

  async #store(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const [counts, keys] = [this.#counts, this.#keys];
    if (keys.size === 0 || this.#pool.ended) return;
    this.#counts = new Map();
    this.#keys = new Set();
    try {
      await this.#pool.query({
        name: "count-usage",
        text: "SELECT service.count_usage($1, $2, $3)",
        values: [[...counts.keys()], [...counts.values()], [...keys]],
      });
    } catch (error) {
      this.#log.warn({ err: error }, "usage could not be stored; it is kept for the next try");
      for (const [account, count] of counts) this.#counts.set(account, this.pending(account) + count);
      for (const key of keys) this.#keys.add(key);
      this.#timer ??= setTimeout(() => void this.flush(), flushMs).unref();
    }
  }
}
