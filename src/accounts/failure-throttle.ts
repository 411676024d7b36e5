import { perDay } from "../auth/rate-limit.ts";

/** Per owner and day; once used up, requests start at the rate at which they come back. */
export const uncountedOfDay = perDay(30_000);
/** Requests that come back per second, and the most that accumulate. */
const perSecond = 25;
const most = 100;
/** This many start as they arrive; further ones start this many milliseconds apart. */
const [atOnce, betweenMs] = [20, 8];
/** Waiting requests per owner: the last of them waits two seconds. */
const maxWaiting = 50;
const maxWaitingInAll = 1_000;
const maxOwners = 20_000;

interface Owner {
  left: number;
  /** Left of the day's budget. */
  leftToday: number;
  at: number;
  /** When the next request may start. */
  nextAt: number;
  waiting: (() => void)[];
  /** Over the owner's whole time in memory. */
  charged: number;
}

/**
 * Slows down clients whose requests no rate limit counts: requests that fail before they are counted (rate used up,
 * wrong key, refused document) and questions that cost nothing. Such a request takes about a millisecond of the
 * process, and a client that loops sends the next one as soon as it is answered. After an owner's first twenty,
 * requests start every 8 ms; after a hundred, every 40 ms; after the day's budget, every 5.8 s. Requests that a rate
 * limit counts cost nothing here.
 */
export class FailureThrottle {
  readonly #owners = new Map<string, Owner>();
  /** Owners with waiting requests, in order of arrival. */
  readonly #queues = new Set<Owner>();
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Starts a request now or when its turn comes.
   *
   * @param owner see `documentOwner`.
   * @returns false: too many wait already, so it is refused.
   */
  begin(owner: string, start: () => void): boolean {
    const known = this.#owners.get(owner);
    if (!known || (known.waiting.length === 0 && this.#fill(known) > 0 && this.#mayBegin(known))) {
      start();
      return true;
    }
    // An owner with requests left may have that many more waiting.
    const room = maxWaiting + Math.max(0, this.#fill(known));
    if (known.waiting.length >= room || this.#waiting >= maxWaitingInAll) return false;
    known.waiting.push(start);
    this.#queues.add(known);
    this.#waiting += 1;
    this.#timer ??= setInterval(() => this.#next(), betweenMs);
    return true;
  }

  /** Records that nothing else counted a request of this owner. */
  charge(owner: string): void {
    const known = this.#owners.get(owner) ?? {
      left: most,
      leftToday: uncountedOfDay.burst,
      at: performance.now(),
      nextAt: 0,
      waiting: [],
      charged: 0,
    };
    // An owner whose running requests exceed its budget goes at most one second into debt.
    known.left = Math.max(this.#fill(known) - 1, -perSecond);
    known.leftToday = Math.max(known.leftToday - 1, -1);
    known.charged += 1;
    // A Map keeps insertion order, so the most recently used owner is last.
    this.#owners.delete(owner);
    this.#owners.set(owner, known);
    const [oldest] = this.#owners.size > maxOwners ? this.#owners : [];
    if (oldest && oldest[1].waiting.length === 0) this.#owners.delete(oldest[0]);
  }

  /** Requests of this owner that nothing else counted, while the owner is remembered. */
  charged(owner: string): number {
    return this.#owners.get(owner)?.charged ?? 0;
  }

  #fill(owner: Owner): number {
    const now = performance.now();
    owner.left = Math.min(most, owner.left + ((now - owner.at) / 1_000) * perSecond);
    const back = ((now - owner.at) / 1_000) * uncountedOfDay.perSecond;
    owner.leftToday = Math.min(uncountedOfDay.burst, owner.leftToday + back);
    owner.at = now;
    return owner.left;
  }

  /** Takes the owner's turn, if it is due. */
  #mayBegin(owner: Owner): boolean {
    const left = this.#fill(owner);
    const isUsedUp = owner.leftToday <= 0;
    if (left > most - atOnce && !isUsedUp) return true;
    if (owner.nextAt > owner.at) return false;
    const slowMs = 1_000 / (isUsedUp ? uncountedOfDay.perSecond : perSecond);
    owner.nextAt = owner.at + (left > 0 && !isUsedUp ? betweenMs : slowMs);
    return true;
  }

  /** Starts one request of each owner whose turn is due. */
  #next(): void {
    for (const owner of this.#queues) {
      if (!this.#mayBegin(owner)) continue;
      const start = owner.waiting.shift();
      if (owner.waiting.length === 0) this.#queues.delete(owner);
      if (!start) continue;
      this.#waiting -= 1;
      start();
    }
    if (this.#waiting > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
