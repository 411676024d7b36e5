/** What can be on an `OpenList`. */
export interface Listed {
  /** Where it is on its list; the list writes it. */
  place: number;
}

/**
 * What is open at a time, in no order: what comes and goes with each request. Not a Set: the table of a Set is replaced every
 * few dozen requests, V8 keeps the older one's entries and its pointer to the newer one, and from the first of them that
 * outlives two collections of young objects on, all requests outlive them. That cost a third of an HTTP server's rate
 * (docs/measurements/reads.md).
 */
export class OpenList<T extends Listed> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Does nothing for an item that is not on it any more. */
  remove(item: T): void {
    if (this.#items[item.place] !== item) return;
    const last = this.#items.pop();
    if (!last || last === item) return;
    this.#items[item.place] = last;
    last.place = item.place;
  }

  /** All that are on it now. */
  all(): T[] {
    return [...this.#items];
  }
}
