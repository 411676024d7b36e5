import { LRUCache } from "lru-cache";
import { entryBound } from "../../cache-bounds.ts";
import type { HeavyTimes } from "../../config/read-limits.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { Reader } from "../tenancy/tenant.ts";

interface Bucket {
  leftMs: number;
  at: number;
}

const maxAccounts = 20_000;
const minuteMs = 60_000;

/**
 * What accounts may have of the database's time in a minute, by plan, for statements that may touch many rows. A statement's
 * time is known when it has ended: an account that has any left may overdraw it, and waits for that much longer.
 */
export class DatabaseTime {
  readonly #times: HeavyTimes;
  readonly #accounts = new LRUCache<string, Bucket>(entryBound(maxAccounts));

  constructor(times: HeavyTimes) {
    this.#times = times;
  }

  /** Why this reader may begin no statement now; null: it may. */
  refusal(reader: Reader | null): ServiceError | null {
    const perMinute = this.#perMinute(reader);
    if (!reader || perMinute === null) return null;
    const { leftMs } = this.#bucket(reader.account, perMinute);
    if (leftMs > 0) return null;
    const seconds = Math.max(1, Math.ceil(((-leftMs / perMinute) * minuteMs) / 1_000));
    return new ServiceError(
      "rate_limit_exceeded",
      `reads of this cost took all of the database's time that the ${reader.tier} plan has, ${perMinute} ms a minute; wait ${seconds} s`,
      { retryAfterSeconds: seconds, details: { limit: perMinute, budget: "database_ms_per_minute" } },
    );
  }

  charge(reader: Reader | null, ms: number): void {
    const perMinute = this.#perMinute(reader);
    if (reader && perMinute !== null) this.#bucket(reader.account, perMinute).leftMs -= ms;
  }

  #perMinute(reader: Reader | null): number | null {
    return !reader || reader.tier === "enterprise" ? null : this.#times[reader.tier];
  }

  #bucket(account: string, perMinute: number): Bucket {
    const now = performance.now();
    const known = this.#accounts.get(account);
    const leftMs = known ? Math.min(perMinute, known.leftMs + ((now - known.at) / minuteMs) * perMinute) : perMinute;
    const bucket = { leftMs, at: now };
    this.#accounts.set(account, bucket);
    return bucket;
  }
}
