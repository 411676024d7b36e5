import { LRUCache } from "lru-cache";
import { perDay } from "../auth/rate-limit.ts";
import { entryBound } from "../cache-bounds.ts";

/** Milliseconds of this process's time: how many come back per second, and the most that accumulate. */
export interface TimeBudget {
  perSecond: number;
  most: number;
}

/** A budget of that many milliseconds in any 24 hours: half of it at once, the other half spread over the day. */
export function timeOfDay(ms: number): TimeBudget {
  const { perSecond, burst } = perDay(ms);
  return { perSecond, most: burst };
}

export interface TimeBudgets {
  /** For an account whose key worked when it was last used here. */
  account: TimeBudget;
  /** For an address: other accounts and visitors that come from it. */
  address: TimeBudget;
  /** For all addresses together, so that many addresses cannot take more. */
  addresses: TimeBudget;
  /** For each account and each address, per day. */
  day: TimeBudget;
}

interface TimeBucket {
  budget: TimeBudget;
  left: number;
  at: number;
}

const maxBuckets = 40_000;
/** The owner of the bucket that all addresses share. */
export const everybody = "";
const day = "day of ";

/** What owners (see `documentOwner`) have left of their budgets; `fresh` gives the additional state of a new bucket. */
export class TimeBuckets<More extends object> {
  readonly #budgets: TimeBudgets;
  readonly #fresh: () => More;
  readonly #buckets = new LRUCache<string, TimeBucket & More>(entryBound(maxBuckets));

  constructor(budgets: TimeBudgets, fresh: () => More) {
    this.#budgets = budgets;
    this.#fresh = fresh;
  }

  /** An owner's short-term bucket, refilled up to now. */
  of(owner: string): TimeBucket & More {
    const budget = this.#budgetOf(owner);
    const now = performance.now();
    const bucket = this.#buckets.get(owner) ?? { budget, left: budget.most, at: now, ...this.#fresh() };
    bucket.left = Math.min(budget.most, bucket.left + ((now - bucket.at) / 1_000) * budget.perSecond);
    bucket.at = now;
    this.#buckets.set(owner, bucket);
    return bucket;
  }

  /** All buckets that an owner pays from: its own, its daily one, and for an address the shared one. */
  allOf(owner: string): (TimeBucket & More)[] {
    const shared = owner.startsWith("account ") ? [] : [everybody];
    return [owner, `${day}${owner}`, ...shared].map((name) => this.of(name));
  }

  #budgetOf(name: string): TimeBudget {
    if (name.startsWith(day)) return this.#budgets.day;
    if (name === everybody) return this.#budgets.addresses;
    return name.startsWith("account ") ? this.#budgets.account : this.#budgets.address;
  }
}
