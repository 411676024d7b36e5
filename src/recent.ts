interface Kept<V> {
  value: V;
  weight: number;
  until: number;
}

/** What was used last, up to a total weight and, where a time is given, not longer than that. */
export class Recent<V> {
  readonly #most: number;
  readonly #keptMs: number;
  readonly #items = new Map<string, Kept<V>>();
  #weight = 0;

  constructor(most: number, keptMs: number = Number.POSITIVE_INFINITY) {
    this.#most = most;
    this.#keptMs = keptMs;
  }

  get(key: string): V | undefined {
    const item = this.#items.get(key);
    if (!item) return undefined;
    this.#items.delete(key);
    if (item.until < performance.now()) {
      this.#weight -= item.weight;
      return undefined;
    }
    // A Map keeps the order of insertion: the last used stands at the end.
    this.#items.set(key, item);
    return item.value;
  }

  set(key: string, value: V, weight: number): void {
    this.#weight += weight - (this.#items.get(key)?.weight ?? 0);
    this.#items.delete(key);
    this.#items.set(key, { value, weight, until: performance.now() + this.#keptMs });
    for (const [oldest, item] of this.#items) {
      if (this.#weight <= this.#most) return;
      this.#items.delete(oldest);
      this.#weight -= item.weight;
    }
  }
}
