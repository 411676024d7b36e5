/** An item of an `OpenList`. */
export interface Listed {
  /** Its index in the list, written by the list. */
  place: number;
}

/**
 * An unordered list of open items that come and go with each request. Not a Set: a Set's table is replaced every few
 * dozen requests, V8 keeps the old table's entries and its pointer to the new one, and once one table survives two
 * scavenges, all later requests survive them too. That cost a third of an HTTP server's rate
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

  /** Does nothing for an item that is no longer in the list. */
  remove(item: T): void {
    if (this.#items[item.place] !== item) return;
    const last = this.#items.pop();
    if (!last || last === item) return;
    this.#items[item.place] = last;
    last.place = item.place;
  }

  /** All items now in the list. */
  all(): T[] {
    return [...this.#items];
  }
}
