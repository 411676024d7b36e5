import { LRUCache } from "lru-cache";

/** The bounds do not allow a request now. The job goes back to the queue, without a permit. */
export class Busy extends Error {
  override readonly name = "Busy";
  readonly retryMs: number;

  constructor(retryMs: number) {
    super("too much is under way");
    this.retryMs = retryMs;
  }
}

export interface Bounds {
  /** Concurrent requests, to one host and in all. */
  perHost: number;
  total: number;
}

/** Hosts that the operator named get this many times more requests than those of third parties. */
const trustedFactor = 4;
const hostRetryMs = 1_000;
/** How long a host is left alone that refuses our requests as too many without a `Retry-After`. */
const silentPauseMs = 5_000;
/** The longest `Retry-After` that is respected; after it one request finds out whether the host still refuses. */
const mostPauseMs = 3_600_000;

/** Counts requests to third-party servers, so that no host gets more than its share. */
export class HostLimits {
  readonly #bounds: Bounds;
  readonly #hosts = new Map<string, number>();
  /** Until when hosts are left alone, by `performance.now()`. */
  readonly #pauses = new LRUCache<string, number>({ max: 10_000 });
  #total = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Takes a permit for one request; the returned function releases it. @throws Busy */
  enter(host: string, trusted: boolean): () => void {
    const pauseMs = (this.#pauses.get(host) ?? 0) - performance.now();
    if (pauseMs > 0) throw new Busy(pauseMs);
    const now = this.#hosts.get(host) ?? 0;
    const most = this.#bounds.perHost * (trusted ? trustedFactor : 1);
    if (now >= most || this.#total >= this.#bounds.total) throw new Busy(hostRetryMs);
    this.#hosts.set(host, now + 1);
    this.#total += 1;
    return () => {
      this.#total -= 1;
      const left = (this.#hosts.get(host) ?? 1) - 1;
      if (left > 0) this.#hosts.set(host, left);
      else this.#hosts.delete(host);
    };
  }

  /** Records a host's answer: one that reports overload gets no further request for a while. */
  answered(host: string, status: number, waitMs: number | null): void {
    if (status !== 429 && (status !== 503 || waitMs === null)) return;
    this.#pauses.set(host, performance.now() + Math.min(waitMs ?? silentPauseMs, mostPauseMs));
  }
}
