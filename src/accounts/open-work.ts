import { FairQueue } from "../fair-queue.ts";
import { turnOf } from "../long-work.ts";
import { tooFast } from "./admit.ts";
import { TimeBuckets, type TimeBudget } from "./time-budget.ts";

const ofAccount: TimeBudget = { perSecond: 400, most: 4_000 };
export const workOfAddress: TimeBudget = { perSecond: 200, most: 2_000 };
export const workOfAddresses: TimeBudget = { perSecond: 400, most: 4_000 };
/**
 * Per day: a rented core is paid by its working time (docs/limits.md). Two hundred visitors of a launch behind one
 * router, who ask for a sale every two seconds, take 210 s in two hours; hence most of it is available at once.
 */
export const workOfDay: TimeBudget = { most: 260_000, perSecond: 140_000 / 86_400 };
/** The most milliseconds that a client's connections can owe, so that later visitors from there wait no longer. */
const mostOwed = 5_000;
/** Waiting requests of one owner that have not started; and everything that waits, including answers under way. */
const maxBeginning = 64;
const maxWaiting = 8_000;
const everyMs = 5;
/** A part of an answer that takes longer waits for a turn of long work. */
const longMs = 1;

interface Waiting {
  owner: string;
  ms: number;
  resume: () => void;
}

/**
 * Bounds the time that content and pages, which need no key, may take of this process. Each request and each part of a
 * long answer has a price in milliseconds. Only an owner that has used up its budget waits: owners take turns.
 */
export class OpenWork {
  readonly #limited: boolean;
  readonly #buckets = new TimeBuckets(
    { account: ofAccount, address: workOfAddress, addresses: workOfAddresses, day: workOfDay },
    // Milliseconds charged so far, and waiting requests that have not started.
    () => ({ paid: 0, beginning: 0 }),
  );
  readonly #waiting = new FairQueue<Waiting>(maxWaiting);
  #timer: NodeJS.Timeout | undefined;

  /** @param limited false: a gateway in front limits rates. */
  constructor(limited: boolean) {
    this.#limited = limited;
  }

  /**
   * Charges a request before it starts, when its turn has come.
   *
   * @param owner see `documentOwner`.
   * @returns nothing if it may start at once.
   * @throws ServiceError `rate_limit_exceeded` when too many requests of this owner wait.
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

  /** Charges the next part of an answer, when its turn has come; other requests are served in between. */
  async goOn(owner: string, ms: number): Promise<void> {
    if (!this.takeNow(owner, ms)) await this.#wait(owner, ms);
    if (ms > longMs) await turnOf(owner);
    else await new Promise((done) => setImmediate(done));
  }

  /** Charges, if that is possible without waiting. */
  takeNow(owner: string, ms: number): boolean {
    if (this.#limited && !this.#mayTake(owner)) return false;
    this.charge(owner, ms);
    return true;
  }

  /** Charges for work already done. @param ms negative: refunds. */
  charge(owner: string, ms: number): void {
    for (const bucket of this.#buckets.allOf(owner)) {
      bucket.left = Math.max(bucket.left - ms, -mostOwed);
      bucket.paid += ms;
    }
  }

  /** Milliseconds charged to this owner, while it is remembered. */
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
