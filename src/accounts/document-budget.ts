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
/** The per-second budget, used all day, would cost too much (docs/limits.md). */
export const documentsOfDay = timeOfDay(200_000);
/** The least that a document costs, because part of its work is not measured. */
const leastMs = 0.5;
/** After each document the process pauses for this many times the time it took, to leave time for other requests. */
const pauseTimes = 3;
const maxPauseMs = 100;
/** The least time between the starts of two documents: reading and answering requests are not measured. */
const aroundMs = 3;
/** Once an owner has used this much of its time, its next documents start at least this far apart. */
const [atOnceMs, betweenMs] = [20, 5];
/** Such a document also costs this much more, for reading its request and writing its answer. */
const aroundCostMs = 1;
const maxWaiting = 128;
/** Refusals are delayed by this: a client that resends at once would keep this process busy with refusing. */
const refusedAfterMs = 250;
const maxRefused = 100;

/**
 * Bounds the time that GraphQL documents new to this process may take of it. The sender pays for parsing and
 * validation, and documents are processed one at a time, with other requests answered in between. Known documents cost
 * nothing here.
 */
export class DocumentBudget {
  readonly #limited: boolean;
  readonly #buckets = new TimeBuckets(
    { account: ofAccount, address: ofAddress, addresses: ofAddresses, day: documentsOfDay },
    // When the owner's next document may start.
    () => ({ nextAt: 0 }),
  );
  readonly #waiting = new FairQueue<() => void>(maxWaiting);
  #scheduled = false;
  /** Documents wait until then, by `performance.now()`. */
  #pausedUntil = 0;
  #nextAt = 0;
  /** Refusals that are being delayed. */
  #refused = 0;

  /** @param limited false: a gateway in front limits rates; documents are still processed one at a time. */
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
    // Documents ahead of it may have used the time up.
    await this.#check(owner);
  }

  /** @param ms processor time that a document of this owner took. */
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

  /** Processes one document in each turn of long work; other requests are answered in between. */
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

  /** Spaces out many cheap documents of one owner; documents of others go in between. */
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
 * The owner who pays for a document.
 *
 * @param authorization every value of the request's `Authorization` headers.
 * @returns the account whose key worked when it was last used here, otherwise the address.
 */
export function documentOwner(services: Services, authorization: readonly string[], address: string | null): string {
  const owner = lastOwnerOf(services, authorization);
  return owner === null ? `address ${address ?? ""}` : `account ${owner.accountId}`;
}
