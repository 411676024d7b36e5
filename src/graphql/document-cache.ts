import { LRUCache } from "lru-cache";

/** Documents sent once, and documents sent more than once. */
const maxNew = 100;
const maxKept = 300;
const maxText = 10_000;

/**
 * Caches what is known about a document, by its text: the newest few, of ordinary length. Yoga's own cache keeps 1,024
 * documents of any length, including errors with their whole source, so anybody could fill it with two megabytes each.
 * Documents that were sent twice are kept apart from the others: new ones, however many, only evict each other.
 */
export class DocumentCache<T extends NonNullable<unknown>> {
  readonly #new = new LRUCache<string, T>({ max: maxNew });
  readonly #kept = new LRUCache<string, T>({ max: maxKept });

  get(text: string): T | undefined {
    const kept = this.#kept.get(text);
    if (kept !== undefined) return kept;
    const found = this.#new.get(text);
    if (found !== undefined) this.#kept.set(text, found);
    return found;
  }

  set(text: string, value: T): void {
    if (text.length <= maxText) this.#new.set(text, value);
  }
}
