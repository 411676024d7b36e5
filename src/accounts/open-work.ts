import { FairQueue } from "../fair-queue.ts";
import { turnOf } from "../long-work.ts";
import { tooFast } from "./admit.ts";
import { TimeBuckets, type TimeBudget } from "./time-budget.ts";

const ofAccount: TimeBudget = { perSecond: 400, most: 4_000 };
export const workOfAddress: TimeBudget = { perSecond: 200, most: 2_000 };
export const workOfAddresses: TimeBudget = { perSecond: 400, most: 4_000 };
/**
 * In a day: a rented core is paid by the time it works (docs/limits.md). Two hundred visitors of a launch behind one
 * router take 210 s in two hours, which ask for a sale every two seconds; hence most of it is there at once.
 */
export const workOfDay: TimeBudget = { most: 260_000, perSecond: 140_000 / 86_400 };
/** A pool of connections owes that many milliseconds at most: who comes from there later waits no longer. */
const mostOwed = 5_000;
/** Requests of one owner that wait before they begin, and all that wait, answers under way included. */
const maxBeginning = 64;
const maxWaiting = 8_000;
const everyMs = 5;
/** A part of an answer that takes longer has a turn of long work. */
const longMs = 1;

interface Waiting {
  owner: string;
  ms: number;
  resume: () => void;
}

/**
 * Bounds what content and pages, which need no key, may take of this process: each request and each part of a long answer
 * has a price in milliseconds, and whoever has used up what it may waits. Nobody else does: owners take turns.
 */
export class OpenWork {
  readonly #limited: boolean;
  readonly #buckets = new TimeBuckets(
    { account: ofAccount, address: workOfAddress, addresses: workOfAddresses, day: workOfDay },
    // Milliseconds that were paid ever, and requests that wait before they begin.
    () => ({ paid: 0, beginning: 0 }),
  );
  readonly #waiting = new FairQueue<Waiting>(maxWaiting);
  #timer: NodeJS.Timeout | undefined;

  /** @param limited false: a gateway in front limits rates. */
  constructor(limited: boolean) {
    this.#limited = limited;
  }

  /**
   * Pays for a request that begins, when its turn has come.
   *
   * @param owner see `documentOwner`.
   * @returns nothing for one that may begin at once.
   * @throws ServiceError `rate_limit_exceeded` when too many of this owner wait.
   */
  begin(owner: string, ms: number): Promise<void> | undefined {
    if (this.takeNow(owner, ms)) return undefined;
    const bucket = this.#buckets.of(owner);
    if (bucket.beginning >= maxBeginning) throw busy();
    bucket.beginning += 1;
    return this.#wait(owner, ms).finally(() => {
      bucket.beginning -= 1;
    });
  }

  /** Pays for the next part of an answer, when its turn has come; other requests are looked at in between. */
  async goOn(owner: string, ms: number): Promise<void> {
    if (!this.takeNow(owner, ms)) await this.#wait(owner, ms);
    if (ms > longMs) await turnOf(owner);
    else await new Promise((done) => setImmediate(done));
  }

  /** Pays, if that is possible without waiting. */
  takeNow(owner: string, ms: number): boolean {
    if (this.#limited && !this.#mayTake(owner)) return false;
    this.charge(owner, ms);
    return true;
  }

  /** Pays for what was done already. @param ms negative: gives back. */
  charge(owner: string, ms: number): void {
    for (const bucket of this.#buckets.allOf(owner)) {
      bucket.left = Math.max(bucket.left - ms, -mostOwed);
      bucket.paid += ms;
    }
  }

  /** Milliseconds that this owner has paid, as long as it is remembered. */
  paid(owner: string): number {
    return this.#buckets.of(owner).paid;
  }

  async #wait(owner: string, ms: number): Promise<void> {
    await new Promise<void>((resume, failed) => {
      if (!this.#waiting.push(owner, { owner, ms, resume })) return failed(busy());
      this.#timer ??= setInterval(() => this.#next(), everyMs);
    });
  }

  #next(): void {
    for (let next = this.#turn(); next; next = this.#turn()) {
      this.charge(next.owner, next.ms);
      next.resume();
    }
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #turn(): Waiting | undefined {
    return this.#waiting.shift((owner) => this.#mayTake(owner));
  }

  #mayTake(owner: string): boolean {
    return this.#buckets.allOf(owner).every(({ left }) => left > 0);
  }
}

function busy() {
  return tooFast(2, "content and pages took all the time they may; ask for fewer of them at once");
}
