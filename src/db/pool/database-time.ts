import { LRUCache } from "lru-cache";
import { entryBound } from "../../cache-bounds.ts";
import type { HeavyTimes } from "../../config/read-limits.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { Reader } from "../tenancy/tenant.ts";

interface Bucket {
  leftMs: number;
  at: number;
}

interface Budget {
  name: string;
  /** Milliseconds available at once; as many are refilled in a period. */
  most: number;
  periodMs: number;
  /** What it is, in words, and the value that clients' code reads. */
  what: string;
  detail: string;
}

const maxAccounts = 40_000;
const minuteMs = 60_000;
/** A free account's budget for a day, in minutes' budgets: half of it at once, the rest as the day goes on. */
export const freeMinutesOfDay = 60;
const dayMs = 86_400_000;

/**
 * Database time per minute that accounts may use, by plan, for statements that may touch many rows. A statement's cost
 * is known only when it has ended: an account with any budget left may overdraw it, and then waits longer.
 */
export class DatabaseTime {
  readonly #times: HeavyTimes;
  readonly #accounts = new LRUCache<string, Bucket>(entryBound(maxAccounts));

  constructor(times: HeavyTimes) {
    this.#times = times;
  }

  /** Why this reader may not begin a statement now; null: it may. */
  refusal(reader: Reader | null): ServiceError | null {
    if (!reader) return null;
    for (const budget of this.#budgetsOf(reader)) {
      const { most, periodMs, what, detail } = budget;
      const { leftMs } = this.#bucket(budget);
      if (leftMs > 0) continue;
      const seconds = Math.max(1, Math.ceil(((-leftMs / most) * periodMs) / 1_000));
      return new ServiceError(
        "rate_limit_exceeded",
        `reads of this cost took all of the database's time that the ${reader.tier} plan has, ${what}; wait ${seconds} s`,
        { retryAfterSeconds: seconds, details: { limit: most, budget: detail } },
      );
    }
    return null;
  }

  charge(reader: Reader | null, ms: number): void {
    if (reader) for (const budget of this.#budgetsOf(reader)) this.#bucket(budget).leftMs -= ms;
  }

  #budgetsOf({ account, tier }: Reader): Budget[] {
    const most = tier === "enterprise" ? null : this.#times[tier];
    if (most === null) return [];
    const ofMinute = { name: account, most, periodMs: minuteMs, what: `${most} ms a minute` };
    const minute = { ...ofMinute, detail: "database_ms_per_minute" };
    if (tier !== "free") return [minute];
    const half = (most * freeMinutesOfDay) / 2;
    const ofDay = { name: `day of ${account}`, most: half, periodMs: dayMs, what: `${half * 2} ms a day` };
    return [minute, { ...ofDay, detail: "database_ms_per_day" }];
  }

  #bucket({ name, most, periodMs }: Budget): Bucket {
    const now = performance.now();
    const known = this.#accounts.get(name);
    const leftMs = known ? Math.min(most, known.leftMs + ((now - known.at) / periodMs) * most) : most;
    const bucket = { leftMs, at: now };
    this.#accounts.set(name, bucket);
    return bucket;
  }
}
