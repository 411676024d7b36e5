import { Recent } from "../recent.ts";

const maxEntries = 200;
const maxText = 10_000;

/**
 * What was found out about a document, by its text: the newest few of ordinary length. Yoga's own cache keeps
 * 1,024 of any length, errors with their whole source among them, which anybody can fill with two megabytes each.
 */
export class DocumentCache<T> {
  readonly #entries = new Recent<T>(maxEntries);

  get(text: string): T | undefined {
    return this.#entries.get(text);
  }

  set(text: string, value: T): void {
    if (text.length <= maxText) this.#entries.set(text, value, 1);
  }
}
