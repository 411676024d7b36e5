/** A rate in memory: tokens come back with time, up to as many as fit. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #most: number;
  #tokens: number;
  #filledAt = performance.now();

  /** @param most how many may be taken at once. */
  constructor(perSecond: number, most: number) {
    this.#perSecond = perSecond;
    this.#most = most;
    this.#tokens = most;
  }

  /** How many could be taken now. */
  get tokens(): number {
    const now = performance.now();
    this.#tokens = Math.min(this.#most, this.#tokens + ((now - this.#filledAt) / 1_000) * this.#perSecond);
    this.#filledAt = now;
    return this.#tokens;
  }

  take(count: number): void {
    this.#tokens = this.tokens - count;
  }

  /** Until so many can be taken; at least 1. */
  secondsUntil(count: number): number {
    return Math.max(1, Math.ceil((count - this.tokens) / this.#perSecond));
  }
}
