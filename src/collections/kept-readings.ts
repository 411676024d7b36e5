import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";

/** The client that causes calls to a node, and its limits. */
export interface Reader {
  /** See `ReaderCalls`. */
  owner: string;
  /** Called before calls to a node, with their number; throws when this reader has reached its limit. */
  admit: (calls: number) => Promise<void>;
}

/** The state of a cached subject, as known without asking a node. */
export interface Sign {
  /** Changes with every event of the subject. */
  name: string;
  /** The last block that it covers. */
  block: bigint;
  /** Maximum age of an answer while the name stays the same. */
  mostKeptMs: number;
}

export interface Question<T> {
  /** As `Reader.admit`, for this question. */
  admit: () => Promise<void>;
  /** Multiplies the maximum age of an answer without a new sign. Default 1. */
  patience?: number | undefined;
  /** False: this answer must be read again, however new it is. */
  suffices?: ((value: T) => boolean) | undefined;
  read: () => Promise<T>;
  /** Absent: answers expire by time only. */
  signs?: {
    look: () => Promise<Sign>;
    /** Whether an answer includes everything that the sign covers: a node may be behind the index. */
    has: (value: T, sign: Sign) => boolean;
    /** Whether an event cost its sender more than a reading costs: then no reader is charged for the reading. */
    isPaid: (value: T) => boolean;
  };
}

interface Rules<T> {
  /** How long an answer is cached, in milliseconds, and the maximum for one that has not changed for a while. */
  keptMs: number;
  mostKeptMs: number;
  /** Maximum age of an answer for a reader that has reached its limit. */
  oldestMs: number;
  /** Interval of checking the signs. */
  signsMs?: number;
  isSame: (one: T, other: T) => boolean;
}

interface Kept<T> {
  value: T;
  readAt: number;
  keptMs: number;
  sign: Sign | null;
  /** Consecutive readings that lacked what the sign covers. */
  behind: number;
}

type Outcome<T> = { value: T } | { refused: unknown };

const most = 1_000;
/** Factor by which an answer is cached longer after each reading without a change. */
const longer = 1.5;
/** Maximum readings for one sign: a node that stays behind for longer is read by time. */
const mostBehind = 5;

/**
 * Caches answers of nodes. Simultaneous callers share one answer, and the caller that causes a reading is charged for
 * it, whatever it is about: all visitors of one page cost a node no more than one of them. With signs, a subject is
 * read again soon after its sign has changed, and seldom otherwise.
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

  /** @throws the error of `admit`, if there is no old answer either; any error of `read`. */
  async get(name: string, question: Question<T>): Promise<T> {
    const kept = this.#kept.get(name);
    const why = kept ? await this.#whyAgain(name, kept, question) : "time";
    if (kept && why === null) return kept.value;
    for (let begun = this.#reading.get(name); begun; begun = this.#reading.get(name)) {
      const outcome = await begun;
      if ("value" in outcome) return outcome.value;
      // A refusal applies to the reader that got it, not to this one.
      if (kept) return kept.value;
    }
    // Another caller may have read it meanwhile.
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

  /** The reason to read an answer again; null: there is none. */
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

  /** Simultaneous callers share one check. */
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
    // Checked before the node is asked: an event in between shows as a new sign at the next reading.
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
