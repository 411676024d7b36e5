import { LRUCache } from "lru-cache";
import type pg from "pg";
import { entryBound } from "../cache-bounds.ts";

/** A bucket's size and its refill rate. */
export interface RateBudget {
  perSecond: number;
  /** Requests that may come at once. */
  burst: number;
}

/** At most `most` in any 24 hours: half of them at once, the other half spread over the day. */
export function perDay(most: number): RateBudget {
  const atOnce = Math.ceil(most / 2);
  return { perSecond: Math.max(most - atOnce, 0.5) / 86_400, burst: atOnce };
}

export interface RateAnswer {
  allowed: boolean;
  limit: number;
  /** Requests that could follow at once. */
  remaining: number;
  /** Until the bucket is full again. */
  resetSeconds: number;
  /** Until the refused request could pass; 0 if it passed. */
  retryAfterSeconds: number;
}

// One statement decides and books, so that processes cannot both take the last request. `excluded.tat - $2` is the
// clock as it was read once: a writer that waited for the row's lock uses a slightly older clock, which can only make
// it stricter.
const statement = `
  WITH took AS (
    INSERT INTO service.rate AS r (k, tat)
    SELECT $1::text, extract(epoch FROM clock_timestamp())::float8 + $2::float8
    ON CONFLICT (k) DO UPDATE SET tat = greatest(r.tat, excluded.tat - $2::float8) + $2::float8
    WHERE greatest(r.tat, excluded.tat - $2::float8) + $2::float8 - $3::float8 <= excluded.tat - $2::float8
    RETURNING tat)
  SELECT (SELECT tat FROM took) AS taken, (SELECT tat FROM service.rate WHERE k = $1) AS before,
    extract(epoch FROM clock_timestamp())::float8 AS now`;

const maxKnown = 50_000;
/** A process may book this many seconds of a bucket's rate ahead, for as long; unused bookings are lost to the key. */
const leaseSeconds = 0.1;

/** Requests booked in the database but not used yet. */
interface Lease {
  left: number;
  /** Requests made from this booking, including the first: as many are likely to come next. */
  made: number;
  takenAt: number;
  /** The bucket's state when the booking was made. */
  remaining: number;
  usedSeconds: number;
}

/**
 * GCRA in Postgres, shared by all processes. A key that was refused is refused again without SQL until the earliest
 * moment at which it could pass: a client that repeats a 429 endlessly costs nothing.
 *
 * For a key with constant traffic, a tenth of a second's worth of requests is booked at once and given out from memory.
 * They are booked first, so all processes together never exceed the bucket; a booking unused within that time is
 * forgotten.
 */
export class RateLimiter {
  readonly #pool: pg.Pool;
  /** The end of each key's refusal, by `performance.now()`. */
  readonly #blocked = new LRUCache<string, number>(entryBound(maxKnown));
  readonly #leases = new LRUCache<string, Lease>(entryBound(maxKnown));

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Takes `cost` from a bucket, or nothing. A cost above the bucket's size can never pass. */
  async take(key: string, budget: RateBudget, cost = 1): Promise<RateAnswer> {
    const known = this.takeKnown(key, budget, cost);
    if (known) return known;
    const ahead = this.#ahead(key, budget);
    const booked = ahead > 0 ? await this.#book(key, budget, cost, ahead) : null;
    // Without booking ahead there may be enough for this request.
    return booked?.allowed ? booked : await this.#book(key, budget, cost, 0);
  }

  /** `take` if the answer is known in this process; null: nothing was taken. */
  takeKnown(key: string, budget: RateBudget, cost = 1): RateAnswer | null {
    const blocked = this.blockedSeconds(key);
    if (blocked > 0) return refusal(budget, blocked);
    if (cost > budget.burst) return refusal(budget, budget.burst / budget.perSecond);
    return this.#takeLeased(key, budget, cost);
  }

  async #book(key: string, budget: RateBudget, cost: number, ahead: number): Promise<RateAnswer> {
    const interval = 1 / budget.perSecond;
    const burst = budget.burst * interval;
    const increment = (cost + ahead) * interval;
    const askedAt = performance.now();
    const { rows } = await this.#pool.query<{ taken: number | null; before: number | null; now: number }>({
      name: "rate",
      text: statement,
      values: [key, increment, burst],
    });
    const { taken = null, before = null, now = 0 } = rows[0] ?? {};
    if (taken === null) {
      const wait = Math.max((before ?? now) + increment - burst - now, interval / 10);
      // A later request may cost less, so the refusal is remembered until one of cost 1 could pass.
      if (ahead === 0) this.#block(key, wait - (increment - interval));
      return refusal(budget, wait);
    }
    const usedSeconds = Math.max(taken - now, 0);
    const remaining = Math.max(Math.floor((burst - usedSeconds) / interval + 1e-6), 0) + ahead;
    this.#keepLease(key, { left: ahead, made: cost, takenAt: askedAt, remaining, usedSeconds });
    const resetSeconds = Math.max(usedSeconds - ahead * interval, 0);
    return { allowed: true, limit: budget.burst, remaining, resetSeconds, retryAfterSeconds: 0 };
  }

  #takeLeased(key: string, budget: RateBudget, cost: number): RateAnswer | null {
    const lease = this.#leases.get(key);
    if (!lease || lease.left < cost) return null;
    const age = (performance.now() - lease.takenAt) / 1000;
    if (age > leaseSeconds) return null;
    lease.left -= cost;
    lease.made += cost;
    lease.remaining -= cost;
    const resetSeconds = Math.max(lease.usedSeconds - age - lease.left / budget.perSecond, 0);
    return { allowed: true, limit: budget.burst, remaining: lease.remaining, resetSeconds, retryAfterSeconds: 0 };
  }

  /** How many requests to book in addition to the current one: as many as came recently, if the bucket has plenty. */
  #ahead(key: string, budget: RateBudget): number {
    const lease = this.#leases.get(key);
    if (!lease || performance.now() - lease.takenAt > 2_000 * leaseSeconds) return 0;
    return Math.min(lease.made, Math.floor(budget.perSecond * leaseSeconds), Math.floor(lease.remaining / 4));
  }

  /** How long nothing can pass, as far as this process knows; 0: the database has to decide. */
  blockedSeconds(key: string): number {
    const until = this.#blocked.get(key);
    if (until === undefined) return 0;
    const left = (until - performance.now()) / 1000;
    if (left > 0) return left;
    this.#blocked.delete(key);
    return 0;
  }

  /** Gives back what was taken for a request that was then refused for another reason. */
  async giveBack(key: string, budget: RateBudget, cost = 1): Promise<void> {
    await this.#pool.query({
      name: "rate-back",
      text: "UPDATE service.rate SET tat = tat - $2::float8 WHERE k = $1",
      values: [key, cost / budget.perSecond],
    });
  }

  /** Deletes full buckets: no row means the same as a full bucket. */
  async sweep(): Promise<void> {
    await this.#pool.query("DELETE FROM service.rate WHERE tat < extract(epoch FROM clock_timestamp())");
  }

  #keepLease(key: string, lease: Lease): void {
    const other = this.#leases.get(key);
    if (other && (performance.now() - other.takenAt) / 1000 <= leaseSeconds) {
      // Concurrent bookings are merged: the remainder of all counts, until the first of them expires.
      lease.left += other.left;
      lease.made += other.made;
      lease.remaining += other.left;
      lease.takenAt = other.takenAt;
    }
    this.#leases.set(key, lease);
  }

  #block(key: string, seconds: number): void {
    if (seconds <= 0) return;
    this.#blocked.set(key, performance.now() + seconds * 1000);
  }
}

function refusal(budget: RateBudget, seconds: number): RateAnswer {
  return {
    allowed: false,
    limit: budget.burst,
    remaining: 0,
    resetSeconds: seconds,
    retryAfterSeconds: Math.max(1, Math.ceil(seconds)),
  };
}
