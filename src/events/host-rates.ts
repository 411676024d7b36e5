/** Messages to one host in a second, of one process: of one account, and of all. */
export const hostRates = { ofAccount: 20, ofAll: 50 } as const;
/** Of those that wait for room each is given so many at a time. */
const share = 10;
const longestSeconds = 60;
/** Hosts that are remembered; one that had nothing for a second needs not be. */
const mostKept = 10_000;

interface Bucket {
  perSecond: number;
  room: number;
  /** When the last one that found no room comes again. */
  nextAt: number;
  at: number;
}

/**
 * How many messages a host may be sent now. Somebody's server behind many endpoints is no target of all of them at once.
 */
export class HostRates {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param now seconds. */
  constructor(now = () => performance.now() / 1_000) {
    this.#now = now;
  }

  /** @returns how many of them may be sent, and when to ask for the others: whoever asks in between takes no place before. */
  take(url: string, account: string, wanted: number): { granted: number; waitSeconds: number } {
    const host = URL.canParse(url) ? new URL(url).hostname : url;
    const buckets = [this.#bucket(`${account} ${host}`, hostRates.ofAccount), this.#bucket(host, hostRates.ofAll)];
    const granted = Math.min(wanted, ...buckets.map(({ room }) => Math.floor(room)));
    for (const bucket of buckets) bucket.room -= granted;
    if (granted === wanted) return { granted, waitSeconds: 0 };
    const now = this.#now();
    const waits = buckets.map((bucket) => {
      if (bucket.room >= share) return 0;
      bucket.nextAt = Math.max(bucket.nextAt, now) + share / bucket.perSecond;
      return bucket.nextAt - now;
    });
    return { granted, waitSeconds: Math.min(longestSeconds, Math.max(...waits)) };
  }

  #bucket(key: string, perSecond: number): Bucket {
    const now = this.#now();
    const bucket = this.#buckets.get(key) ?? { perSecond, room: perSecond, nextAt: now, at: now };
    bucket.room = Math.min(perSecond, bucket.room + (now - bucket.at) * perSecond);
    bucket.at = now;
    // The oldest first: what was asked for last stands last.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    for (const [old, { at, nextAt }] of this.#buckets) {
      if (this.#buckets.size <= mostKept || Math.max(at, nextAt) > now - 1) break;
      this.#buckets.delete(old);
    }
    return bucket;
  }
}
