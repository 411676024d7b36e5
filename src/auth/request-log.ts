import { AsyncResource } from "node:async_hooks";
import type pg from "pg";
import type { OperationName } from "../http/request-notes.ts";
import { causeOf, type LogOnce } from "../telemetry/log-once.ts";

/** An answered request of an account. */
export interface LoggedRequest {
  accountId: string;
  keyId: string;
  requestId: string;
  method: string;
  /** As sent, with its query; it is redacted when it is written. */
  url: string;
  /** Null: not a GraphQL request. */
  operation: OperationName | null;
  status: number;
  code: string | null;
  /** Milliseconds since 1970; `ms` is the duration. */
  endedAt: number;
  ms: number;
}

/** The part of a URL that may be stored. */
export interface ShownUrl {
  route: string;
  path: string;
}

const flushMs = 2_000;
const flushEntries = 500;
/** Requests that wait while a statement runs; further ones are only counted. */
const maxPending = 2_000;
/** The rate of logged requests of one account in this process. */
export const kept = { perSecond: 20, burst: 200 };
const maxAccounts = 20_000;

interface Bucket {
  left: number;
  at: number;
  /** Requests not logged since the account's last log entry was written. */
  skipped: number;
}

/**
 * Buffers requests in memory and writes them every two seconds, for their accounts to read. It never delays or fails a
 * request: what cannot be written is dropped. A killed process loses its last two seconds.
 */
export class RequestLog {
  readonly #pool: pg.Pool;
  readonly #logOnce: LogOnce;
  readonly #shownUrl: (url: string) => ShownUrl;
  readonly #buckets = new Map<string, Bucket>();
  #pending: LoggedRequest[] = [];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> | null = null;
  /** Bound outside of every request, because the statement serves many accounts and belongs to none. */
  readonly #flush = AsyncResource.bind(() => void this.flush());

  constructor(pool: pg.Pool, logOnce: LogOnce, shownUrl: (url: string) => ShownUrl) {
    this.#pool = pool;
    this.#logOnce = logOnce;
    this.#shownUrl = shownUrl;
  }

  /**
   * Whether to log an account's request that just ended; if so, call `add`. Otherwise it is counted.
   *
   * @param now by `performance.now()`.
   */
  takes(accountId: string, now: number): boolean {
    const bucket = this.#bucketOf(accountId, now);
    if (!bucket) return false;
    bucket.left = Math.min(kept.burst, bucket.left + ((now - bucket.at) * kept.perSecond) / 1_000);
    bucket.at = now;
    if (bucket.left < 1 || this.#pending.length >= maxPending) {
      bucket.skipped += 1;
      return false;
    }
    bucket.left -= 1;
    return true;
  }

  /** Counts an account's request that is not to be logged. @param now by `performance.now()`. */
  count(accountId: string, now: number): void {
    const bucket = this.#bucketOf(accountId, now);
    if (bucket) bucket.skipped += 1;
  }

  /** Null: there are too many accounts already. */
  #bucketOf(accountId: string, now: number): Bucket | null {
    let bucket = this.#buckets.get(accountId);
    if (bucket) return bucket;
    if (this.#buckets.size >= maxAccounts) {
      this.#timer ??= setTimeout(this.#flush, flushMs).unref();
      return null;
    }
    bucket = { left: kept.burst, at: now, skipped: 0 };
    this.#buckets.set(accountId, bucket);
    return bucket;
  }

  add(request: LoggedRequest): void {
    this.#pending.push(request);
    if (this.#pending.length === flushEntries) setImmediate(this.#flush);
    else this.#timer ??= setTimeout(this.#flush, flushMs).unref();
  }

  /** Writes what was added so far. Never fails. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const requests = this.#pending;
    this.#pending = [];
    this.#forgetQuiet();
    if (requests.length === 0 || this.#pool.ended) return;
    this.#writing = this.#write(requests).finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  async #write(requests: readonly LoggedRequest[]): Promise<void> {
    const column = <T>(of: (request: LoggedRequest) => T) => requests.map(of);
    try {
      const skips = this.#takeSkips(requests);
      const shown = requests.map(({ url }) => this.#shownUrl(url));
      await this.#pool.query({
        name: "log-requests",
        text: "SELECT service.log_requests($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        values: [
          ...[column(({ accountId }) => accountId), column(({ endedAt }) => endedAt), column(({ keyId }) => keyId)],
          ...[column(({ method }) => method), shown.map(({ route }) => route), shown.map(({ path }) => path)],
          column(({ operation }) => operation?.operation ?? null),
          column(({ operation }) => operation?.fields ?? null),
          ...[column(({ status }) => status), column(({ code }) => code), column(({ ms }) => Math.round(ms))],
          ...[column(({ requestId }) => requestId), skips],
        ],
      });
    } catch (error) {
      const fields = { err: error, requests: requests.length };
      this.#logOnce.write("warn", `request log ${causeOf(error)}`, fields, "requests are missing in accounts' logs");
    }
  }

  /** For each request the number of its account's unlogged requests, all of them at the account's newest request. */
  #takeSkips(requests: readonly LoggedRequest[]): number[] {
    const skips = requests.map(() => 0);
    for (let index = requests.length - 1; index >= 0; index -= 1) {
      const bucket = this.#buckets.get(requests[index]?.accountId ?? "");
      if (!bucket?.skipped) continue;
      skips[index] = bucket.skipped;
      bucket.skipped = 0;
    }
    return skips;
  }

  /** Deletes full buckets, which equal new ones; those with unlogged requests only if memory is short. */
  #forgetQuiet(): void {
    const now = performance.now();
    const fullMs = (kept.burst / kept.perSecond) * 1_000;
    const isCrowded = this.#buckets.size >= maxAccounts;
    for (const [accountId, { at, skipped }] of this.#buckets)
      if (now - at > fullMs && (skipped === 0 || isCrowded)) this.#buckets.delete(accountId);
  }
}
