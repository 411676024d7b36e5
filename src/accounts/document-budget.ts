import { ServiceError } from "../errors/errors.ts";
import { FairQueue } from "../fair-queue.ts";
import { turnOf } from "../long-work.ts";
import type { Services } from "../services.ts";
import { tooFast } from "./admit.ts";
import { lastOwnerOf } from "./authenticate.ts";
import { everybody, TimeBuckets, type TimeBudget, timeOfDay } from "./time-budget.ts";

const ofAccount: TimeBudget = { perSecond: 200, most: 2_000 };
export const ofAddress: TimeBudget = { perSecond: 50, most: 500 };
export const ofAddresses: TimeBudget = { perSecond: 200, most: 2_000 };
/** What comes in a second, all day, is a bill (docs/limits.md). */
export const documentsOfDay = timeOfDay(200_000);
/** A document costs that at least: what was not measured has its price too. */
const leastMs = 0.5;
/** After a document as many times what it took pass before the next one: so much of the process stays for others. */
const pauseTimes = 3;
const maxPauseMs = 100;
/** So long pass between the beginnings of two at least: reading a request and writing its answer are not measured. */
const aroundMs = 3;
/** From an owner that has used so much of its time at once, the next document comes that late at the earliest. */
const [atOnceMs, betweenMs] = [20, 5];
/** And costs so much more: what reading its request and writing its answer take. */
const aroundCostMs = 1;
const maxWaiting = 128;
/** A refusal comes that late: whoever sends on at once would have this process do little else than refuse. */
const refusedAfterMs = 250;
const maxRefused = 100;

/**
 * Bounds what GraphQL documents that nobody has sent before may take of this process: who sends them pays for the time
 * that parsing and validation take, and they are looked at one by one, between which other requests are answered.
 * Documents that are known cost nothing here.
 */
export class DocumentBudget {
  readonly #limited: boolean;
  readonly #buckets = new TimeBuckets(
    { account: ofAccount, address: ofAddress, addresses: ofAddresses, day: documentsOfDay },
    // When the owner's next document may be looked at.
    () => ({ nextAt: 0 }),
  );
  readonly #waiting = new FairQueue<() => void>(maxWaiting);
  #scheduled = false;
  /** Until when documents wait, by this process's clock. */
  #pausedUntil = 0;
  #nextAt = 0;
  /** Refusals that are held back now. */
  #refused = 0;

  /** @param limited false: a gateway in front limits rates; documents are still looked at one by one. */
  constructor(limited: boolean) {
    this.#limited = limited;
  }

  /**
   * Waits for the turn of a new document.
   *
   * @param owner see `documentOwner`.
   * @throws ServiceError `rate_limit_exceeded` for an owner whose time is used up, `service_unavailable` when too many
   *   documents wait.
   */
  async admit(owner: string): Promise<void> {
    await this.#check(owner);
    await new Promise<void>((resume, failed) => {
      if (!this.#waiting.push(owner, resume))
        failed(
          new ServiceError("service_unavailable", "too many new GraphQL documents wait; try again in a moment", {
            retryAfterSeconds: 1,
          }),
        );
      this.#schedule();
    });
    // Those in front of it may have used the time up.
    await this.#check(owner);
  }

  /** @param ms of processor time that a document of this owner took. */
  charge(owner: string, ms: number): void {
    const cost = Math.max(ms, leastMs);
    for (const bucket of this.#buckets.allOf(owner)) bucket.left -= cost;
    const now = performance.now();
    this.#pausedUntil = Math.min(Math.max(this.#pausedUntil, now) + pauseTimes * ms, now + maxPauseMs);
  }

  async #check(owner: string): Promise<void> {
    if (!this.#limited) return;
    const empty = this.#buckets.allOf(owner).find(({ left }) => left <= 0);
    if (!empty) return;
    const seconds = Math.max(1, Math.ceil(-empty.left / empty.budget.perSecond));
    await this.#holdBack();
    throw tooFast(seconds, "new GraphQL documents took all the time they may; send known ones with variables");
  }

  async #holdBack(): Promise<void> {
    if (this.#refused >= maxRefused) return;
    this.#refused += 1;
    await new Promise((done) => setTimeout(done, refusedAfterMs));
    this.#refused -= 1;
  }

  /** One document in each turn of long work: what else has come is answered in between. */
  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0) return;
    this.#scheduled = true;
    const begin = () => {
      this.#scheduled = false;
      const resume = this.#waiting.shift((owner) => this.#mayBegin(owner));
      this.#nextAt = performance.now() + aroundMs;
      resume?.();
      this.#schedule();
    };
    const pauseMs = Math.max(this.#pausedUntil, this.#nextAt) - performance.now();
    const take = () => void turnOf(everybody).then(begin);
    if (pauseMs > 0) setTimeout(take, pauseMs);
    else take();
  }

  /** Many cheap documents of one owner come at a pace; whoever else sends one goes in between. */
  #mayBegin(owner: string): boolean {
    const now = performance.now();
    const bucket = this.#buckets.of(owner);
    if (bucket.left > bucket.budget.most - atOnceMs) return true;
    if (bucket.nextAt > now) return false;
    bucket.nextAt = now + betweenMs;
    bucket.left -= aroundCostMs;
    return true;
  }
}

/**
 * Whose time a document takes.
 *
 * @param authorization every value of the request's `Authorization` headers.
 * @returns an account whose key worked when it was last used here, else the address.
 */
export function documentOwner(services: Services, authorization: readonly string[], address: string | null): string {
  const owner = lastOwnerOf(services, authorization);
  return owner === null ? `address ${address ?? ""}` : `account ${owner.accountId}`;
}
