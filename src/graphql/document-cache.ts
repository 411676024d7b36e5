const maxEntries = 200;
const maxText = 10_000;

/**
 * What was found out about a document, by its text: the newest few of ordinary length. Yoga's own cache keeps
 * 1,024 of any length, errors with their whole source among them, which anybody can fill with two megabytes each.
 */
export class DocumentCache<T> {
  readonly #entries = new Map<string, T>();

  get(text: string): T | undefined {
    const found = this.#entries.get(text);
    if (found === undefined) return undefined;
    // What is used goes to the end of the line.
    this.#entries.delete(text);
    this.#entries.set(text, found);
    return found;
  }

  set(text: string, value: T): void {
    if (text.length > maxText) return;
    this.#entries.set(text, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= maxEntries) break;
      this.#entries.delete(oldest);
    }
  }
}
