/** The bounds do not allow a request now; the job goes back to the queue and holds no permit meanwhile. */
export class Busy extends Error {
  override readonly name = "Busy";
  readonly retryMs: number;

  constructor(retryMs: number) {
    super("too much is under way");
    this.retryMs = retryMs;
  }
}

export interface Bounds {
  /** Requests at the same time, to one host and in all. */
  perHost: number;
  total: number;
}

/** Hosts that the operator named carry more than those of third parties. */
const trustedFactor = 4;
const hostRetryMs = 1_000;

/** Counts requests to servers of third parties, so that no host takes more than its part. */
export class HostLimits {
  readonly #bounds: Bounds;
  readonly #hosts = new Map<string, number>();
  #total = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Takes a permit for one request; the returned function gives it back. @throws Busy */
  enter(host: string, trusted: boolean): () => void {
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
}
