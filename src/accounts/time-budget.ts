import { LRUCache } from "lru-cache";
import { perDay } from "../auth/rate-limit.ts";
import { entryBound } from "../cache-bounds.ts";

/** Milliseconds of this process's time: how many come back in a second, and how many there are at most. */
export interface TimeBudget {
  perSecond: number;
  most: number;
}

/** A budget of so many milliseconds in any 24 hours: half at once, and the other half as the day goes on. */
export function timeOfDay(ms: number): TimeBudget {
  const { perSecond, burst } = perDay(ms);
  return { perSecond, most: burst };
}

export interface TimeBudgets {
  /** Of an account whose key worked when it was last used here. */
  account: TimeBudget;
  /** Of an address, for other accounts and visitors that come from it. */
  address: TimeBudget;
  /** Of all addresses together: many of them cannot take more. */
  addresses: TimeBudget;
  /** Of each account and address in a day. */
  day: TimeBudget;
}

interface TimeBucket {
  budget: TimeBudget;
  left: number;
  at: number;
}

const maxBuckets = 40_000;
/** The owner of what all addresses share. */
export const everybody = "";
const day = "day of ";

/** What owners (see `documentOwner`) have left of their budgets, each with what `fresh` gives to a new one. */
export class TimeBuckets<More extends object> {
  readonly #budgets: TimeBudgets;
  readonly #fresh: () => More;
  readonly #buckets = new LRUCache<string, TimeBucket & More>(entryBound(maxBuckets));

  constructor(budgets: TimeBudgets, fresh: () => More) {
    this.#budgets = budgets;
    this.#fresh = fresh;
  }

  /** The bucket of what an owner may take at once, filled up to now. */
  of(owner: string): TimeBucket & More {
    const budget = this.#budgetOf(owner);
    const now = performance.now();
    const bucket = this.#buckets.get(owner) ?? { budget, left: budget.most, at: now, ...this.#fresh() };
    bucket.left = Math.min(budget.most, bucket.left + ((now - bucket.at) / 1_000) * budget.perSecond);
    bucket.at = now;
    this.#buckets.set(owner, bucket);
    return bucket;
  }

  /** All that an owner pays from: that one, the day's, and for an address that of all addresses. */
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
