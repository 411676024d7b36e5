import { LRUCache } from "lru-cache";

/** Texts that were sent once, and texts that were sent again. */
const maxNew = 100;
const maxKept = 300;
const maxText = 10_000;

/**
 * What was found out about a document, by its text: the newest few of ordinary length. Yoga's own cache keeps
 * 1,024 of any length, errors with their whole source among them, which anybody can fill with two megabytes each.
 * One that was asked for again is kept apart from those that were not: however many new ones somebody sends, they take
 * each other's place.
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
