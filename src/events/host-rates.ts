/** Messages per second from one process to one host: of one account, and of all. */
export const hostRates = { ofAccount: 20, ofAll: 50 } as const;
/** Each endpoint that waits for capacity is scheduled for this many messages. */
const share = 10;
const longestSeconds = 60;
/** The most hosts in memory; one without messages for a second can be dropped. */
const mostKept = 10_000;

interface Bucket {
  perSecond: number;
  room: number;
  /** When the last of the endpoints that wait for capacity should ask again. */
  nextAt: number;
  at: number;
}

/** Limits the messages to a host. A server must not be flooded by many endpoints that lead to it. */
export class HostRates {
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param now seconds. */
  constructor(now = () => performance.now() / 1_000) {
    this.#now = now;
  }

  /** @returns how many may be sent now, and when to ask for the others; endpoints that ask in between come later. */
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
    // Reinserted, so that the least recently used come first.
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    for (const [old, { at, nextAt }] of this.#buckets) {
      if (this.#buckets.size <= mostKept || Math.max(at, nextAt) > now - 1) break;
      this.#buckets.delete(old);
    }
    return bucket;
  }
}
