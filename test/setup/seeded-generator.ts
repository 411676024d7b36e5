/** Seeded random numbers (mulberry32): a run can be repeated as far as the operating system lets it. */
export class SeededGenerator {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 inclusive to 1 exclusive. */
  readonly next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };

  /** A whole number, 0 inclusive to `bound` exclusive. */
  readonly below = (bound: number): number => Math.floor(this.next() * bound);

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}
