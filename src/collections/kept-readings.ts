import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";

/** Who makes this server ask a node, and what that costs. */
export interface Reader {
  /** See `ReaderCalls`. */
  owner: string;
  /** Is called before a node is asked; throws when this reader has asked too much. */
  admit: () => Promise<void>;
}

interface Rules<T> {
  /** Milliseconds that an answer is given again, and at most so many when it has not changed for a while. */
  keptMs: number;
  mostKeptMs: number;
  /** To whoever has used up what it may ask, an answer is given as long as that. */
  oldestMs: number;
  isSame: (one: T, other: T) => boolean;
}

interface Kept<T> {
  value: T;
  readAt: number;
  keptMs: number;
}

const most = 1_000;
/** How much longer an answer is kept after each reading that brought nothing new. */
const longer = 1.5;

/**
 * What nodes said last. All who ask at about the same time get one answer, and whoever's question causes a reading pays for it,
 * whatever it is about: visitors of one page cost a node no more than one of them.
 */
export class KeptReadings<T> {
  readonly #rules: Rules<T>;
  readonly #kept: LRUCache<string, Kept<T>>;
  readonly #reading = new Map<string, Promise<T>>();

  constructor(rules: Rules<T>) {
    this.#rules = rules;
    this.#kept = new LRUCache({ ...entryBound(most), ttl: rules.oldestMs });
  }

  /** @throws what `admit` throws, where there is no old answer either; what `read` throws. */
  async get(name: string, admit: () => Promise<void>, read: () => Promise<T>): Promise<T> {
    const known = this.#known(name);
    if (known) return (await known).value;
    try {
      await admit();
    } catch (refusal) {
      const old = this.#kept.get(name);
      if (old) return old.value;
      throw refusal;
    }
    // Somebody else may have begun meanwhile.
    const begun = this.#known(name);
    return begun ? (await begun).value : await this.#read(name, read);
  }

  #known(name: string): { value: T } | Promise<{ value: T }> | undefined {
    const kept = this.#kept.get(name);
    if (kept && performance.now() - kept.readAt < kept.keptMs) return kept;
    return this.#reading.get(name)?.then((value) => ({ value }));
  }

  async #read(name: string, read: () => Promise<T>): Promise<T> {
    const reading = read();
    this.#reading.set(name, reading);
    try {
      const value = await reading;
      const { keptMs, mostKeptMs, isSame } = this.#rules;
      const before = this.#kept.get(name);
      const isQuiet = before !== undefined && isSame(before.value, value);
      const forMs = isQuiet ? Math.min(before.keptMs * longer, mostKeptMs) : keptMs;
      this.#kept.set(name, { value, readAt: performance.now(), keptMs: forMs });
      return value;
    } finally {
      this.#reading.delete(name);
    }
  }
}
