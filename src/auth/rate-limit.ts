import type pg from "pg";

/** A bucket's size and how fast it fills. */
export interface RateBudget {
  perSecond: number;
  /** Requests that may come at once. */
  burst: number;
}

export interface RateAnswer {
  allowed: boolean;
  limit: number;
  /** What could follow at once. */
  remaining: number;
  /** Until the bucket is full again. */
  resetSeconds: number;
  /** Until the refused request could pass; 0 when it passed. */
  retryAfterSeconds: number;
}

// One statement decides and books, so writers in any number of processes cannot both take the last
// place. `excluded.tat - $2` is the clock as it was read once: a writer that waited for the row's lock
// judges by a slightly older clock, which can only make it stricter.
const statement = `
  WITH took AS (
    INSERT INTO service.rate AS r (k, tat)
    SELECT $1::text, extract(epoch FROM clock_timestamp())::float8 + $2::float8
    ON CONFLICT (k) DO UPDATE SET tat = greatest(r.tat, excluded.tat - $2::float8) + $2::float8
    WHERE greatest(r.tat, excluded.tat - $2::float8) + $2::float8 - $3::float8 <= excluded.tat - $2::float8
    RETURNING tat)
  SELECT (SELECT tat FROM took) AS taken, (SELECT tat FROM service.rate WHERE k = $1) AS before,
    extract(epoch FROM clock_timestamp())::float8 AS now`;

const maxBlocked = 50_000;

/**
 * GCRA in Postgres, shared by all processes. A key that was refused is refused again without SQL until
 * the earliest moment at which it could pass: a client that repeats a 429 without end costs nothing.
 */
export class RateLimiter {
  readonly #pool: pg.Pool;
  /** Until when, by this process's own steady clock. */
  readonly #blocked = new Map<string, number>();

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Takes `cost` out of a bucket, or nothing. A cost above the bucket's size can never pass. */
  async take(key: string, budget: RateBudget, cost = 1): Promise<RateAnswer> {
    const blocked = this.blockedSeconds(key);
    if (blocked > 0) return refusal(budget, blocked);
    const interval = 1 / budget.perSecond;
    const burst = budget.burst * interval;
    const increment = cost * interval;
    if (cost > budget.burst) return refusal(budget, burst);
    const { rows } = await this.#pool.query<{ taken: number | null; before: number | null; now: number }>({
      name: "rate",
      text: statement,
      values: [key, increment, burst],
    });
    const { taken = null, before = null, now = 0 } = rows[0] ?? {};
    if (taken === null) {
      const wait = Math.max((before ?? now) + increment - burst - now, interval / 10);
      // Another request may be cheaper; what is remembered is until one of cost 1 could pass.
      this.#block(key, wait - (increment - interval));
      return refusal(budget, wait);
    }
    const used = Math.max(taken - now, 0);
    const remaining = Math.max(Math.floor((burst - used) / interval + 1e-6), 0);
    return { allowed: true, limit: budget.burst, remaining, resetSeconds: used, retryAfterSeconds: 0 };
  }

  /** For how long nothing can pass, as far as this process knows; 0 when it would have to ask. */
  blockedSeconds(key: string): number {
    const until = this.#blocked.get(key);
    if (until === undefined) return 0;
    const left = (until - performance.now()) / 1000;
    if (left > 0) return left;
    this.#blocked.delete(key);
    return 0;
  }

  /** Forgets full buckets: no row and a full bucket mean the same. */
  async sweep(): Promise<void> {
    await this.#pool.query("DELETE FROM service.rate WHERE tat < extract(epoch FROM clock_timestamp())");
  }

  #block(key: string, seconds: number): void {
    if (seconds <= 0) return;
    this.#blocked.set(key, performance.now() + seconds * 1000);
    const [oldest] = this.#blocked.size > maxBlocked ? this.#blocked.keys() : [];
    if (oldest !== undefined) this.#blocked.delete(oldest);
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
