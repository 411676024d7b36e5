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
  /** Tokens per contract and minute; as many at once after a pause. */
  perContractMinute: number;
}

/** Hosts that the operator named carry more than those of third parties. */
const trustedFactor = 4;
const hostRetryMs = 1_000;

/** Counts requests to servers of third parties, so that no host and no contract takes more than its part. */
export class OutboundLimits {
  readonly #bounds: Bounds;
  readonly #hosts = new Map<string, number>();
  /** When the contract's allowance is full again, milliseconds of `performance.now()`. */
  readonly #fullAt = new Map<string, number>();
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

  /** Counts one token of a contract. @throws Busy until when the contract has used its minute up */
  charge(contract: string): void {
    const waitMs = this.waitMs(contract);
    if (waitMs > 0) throw new Busy(waitMs);
    const now = performance.now();
    this.#fullAt.set(contract, Math.max(this.#fullAt.get(contract) ?? 0, now) + this.#stepMs);
    if (this.#fullAt.size > 10_000) this.#forget(now);
  }

  /** How long until a token of the contract may be read from a server; 0: now. */
  waitMs(contract: string): number {
    const full = (this.#fullAt.get(contract) ?? 0) - performance.now();
    return Math.max(0, full + this.#stepMs - 60_000);
  }

  get #stepMs(): number {
    return 60_000 / this.#bounds.perContractMinute;
  }

  #forget(now: number): void {
    for (const [contract, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(contract);
  }
}
