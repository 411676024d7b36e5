import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";

/** Who makes this server ask a node, and what that costs. */
export interface Reader {
  /** See `ReaderCalls`. */
  owner: string;
  /** Is called before a node is asked, with how many calls that is; throws when this reader has asked too much. */
  admit: (calls: number) => Promise<void>;
}

/** What is known of a thing without asking a node. */
export interface Sign {
  /** Changes with whatever happens to it. */
  name: string;
  /** Until which block. */
  block: bigint;
  /** An answer is given that long at most while the name stays. */
  mostKeptMs: number;
}

export interface Question<T> {
  /** As `Reader` has it, for this question. */
  admit: () => Promise<void>;
  /** So many times as long an answer without a new sign will do for who asks. Default 1. */
  patience?: number | undefined;
  /** False: this answer will not do, however new it is. */
  suffices?: ((value: T) => boolean) | undefined;
  read: () => Promise<T>;
  /** Absent: only time says that an answer is old. */
  signs?: {
    look: () => Promise<Sign>;
    /** Whether an answer has everything that a sign tells of: a node may be behind the index. */
    has: (value: T, sign: Sign) => boolean;
    /** Whether what happens to it has cost its sender more than a reading costs: then nobody here pays for that. */
    isPaid: (value: T) => boolean;
  };
}

interface Rules<T> {
  /** Milliseconds that an answer is given again, and at most so many when it has not changed for a while. */
  keptMs: number;
  mostKeptMs: number;
  /** To whoever has used up what it may ask, an answer is given as long as that. */
  oldestMs: number;
  /** Between two looks at the signs. */
  signsMs?: number;
  isSame: (one: T, other: T) => boolean;
}

interface Kept<T> {
  value: T;
  readAt: number;
  keptMs: number;
  sign: Sign | null;
  /** Readings one after another that had not what a sign told of. */
  behind: number;
}

type Outcome<T> = { value: T } | { refused: unknown };

const most = 1_000;
/** How much longer an answer is kept after each reading that brought nothing new. */
const longer = 1.5;
/** Readings for one sign: a node that is behind for longer is read as time passes. */
const mostBehind = 5;

/**
 * What nodes said last. All who ask at about the same time get one answer, and whoever's question causes a reading pays for it,
 * whatever it is about: visitors of one page cost a node no more than one of them. Where there are signs, something is read
 * again soon after they have changed, and seldom otherwise.
 */
export class KeptReadings<T> {
  readonly #rules: Rules<T>;
  readonly #kept: LRUCache<string, Kept<T>>;
  readonly #reading = new Map<string, Promise<Outcome<T>>>();
  readonly #signs: LRUCache<string, Promise<Sign>>;

  constructor(rules: Rules<T>) {
    this.#rules = rules;
    this.#kept = new LRUCache({ ...entryBound(most), ttl: rules.oldestMs });
    this.#signs = new LRUCache({ ...entryBound(most), ttl: rules.signsMs ?? 1_000 });
  }

  /** @throws what `admit` throws, where there is no old answer either; what `read` throws. */
  async get(name: string, question: Question<T>): Promise<T> {
    const kept = this.#kept.get(name);
    const why = kept ? await this.#whyAgain(name, kept, question) : "time";
    if (kept && why === null) return kept.value;
    for (let begun = this.#reading.get(name); begun; begun = this.#reading.get(name)) {
      const outcome = await begun;
      if ("value" in outcome) return outcome.value;
      // Another one's refusal is not this one's.
      if (kept) return kept.value;
    }
    // Somebody else may have read it meanwhile.
    const newest = this.#kept.get(name);
    if (newest && newest !== kept) return newest.value;
    const reading = this.#read(name, question, why === "paid event").finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    const outcome = await reading;
    if ("value" in outcome) return outcome.value;
    const old = this.#kept.get(name);
    if (old) return old.value;
    throw outcome.refused;
  }

  /** Why an answer is read again; null: it is not. */
  async #whyAgain(
    name: string,
    kept: Kept<T>,
    { signs, patience = 1, suffices }: Question<T>,
  ): Promise<"time" | "event" | "paid event" | null> {
    if (suffices?.(kept.value) === false) return "time";
    const age = performance.now() - kept.readAt;
    if (!signs || age < this.#rules.keptMs) return age < kept.keptMs ? null : "time";
    const sign = await this.#look(name, signs.look);
    if (sign.name !== kept.sign?.name) return signs.isPaid(kept.value) ? "paid event" : "event";
    return age < Math.min(kept.keptMs, sign.mostKeptMs) * patience ? null : "time";
  }

  /** One look for all who ask at about the same time. */
  async #look(name: string, look: () => Promise<Sign>): Promise<Sign> {
    const looking = this.#signs.get(name) ?? look();
    this.#signs.set(name, looking, { noUpdateTTL: true });
    try {
      return await looking;
    } catch (error) {
      this.#signs.delete(name);
      throw error;
    }
  }

  async #read(name: string, question: Question<T>, isPaid: boolean): Promise<Outcome<T>> {
    if (!isPaid)
      try {
        await question.admit();
      } catch (refused) {
        return { refused };
      }
    const { signs } = question;
    // Looked at before the node is asked: what happens in between is a sign of the next reading.
    const sign = signs ? await this.#look(name, signs.look) : null;
    const value = await question.read();
    const before = this.#kept.get(name);
    const { keptMs, mostKeptMs, isSame } = this.#rules;
    const isQuiet = before !== undefined && (isSame(before.value, value) || before.sign?.name !== sign?.name);
    const forMs = isQuiet ? Math.min(before.keptMs * longer, mostKeptMs) : keptMs;
    const behind = !before || !sign || !signs || signs.has(value, sign) ? 0 : before.behind + 1;
    const seen = behind > 0 && behind < mostBehind ? (before?.sign ?? null) : sign;
    this.#kept.set(name, { value, readAt: performance.now(), keptMs: forMs, sign: seen, behind });
    return { value };
  }
}
