import { perDay } from "../auth/rate-limit.ts";

/** Of one owner in a day; then one is begun as often as they come back. */
export const uncountedOfDay = perDay(30_000);
/** Requests that come back in a second, and how many there are at most. */
const perSecond = 25;
const most = 100;
/** Of these so many are begun as they come, and one every so many milliseconds from then on. */
const [atOnce, betweenMs] = [20, 8];
/** Requests of one owner that wait for their turn: with those in front of it the last waits two seconds. */
const maxWaiting = 50;
const maxWaitingInAll = 1_000;
const maxOwners = 20_000;

interface Owner {
  left: number;
  /** Of the day's. */
  leftToday: number;
  at: number;
  /** When the next one may begin. */
  nextAt: number;
  waiting: (() => void)[];
  /** Ever. */
  charged: number;
}

/**
 * Slows down whoever sends what no rate counts: requests that fail before they are counted (a rate that is used up, a
 * wrong key, a document that is refused) and questions that cost nothing. Such a request takes about a millisecond of the
 * process, and a client that repeats it without a pause sends the next one as soon as it is answered. From an owner that
 * sent twenty of them, one request is begun every 8 ms, after a hundred one every 40 ms, and after the day's one every
 * 5.8 s; what is counted costs nothing here.
 */
export class FailureThrottle {
  readonly #owners = new Map<string, Owner>();
  /** Those of them for whom requests wait, in the order in which they came. */
  readonly #queues = new Set<Owner>();
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Lets a request begin, now or when its turn has come.
   *
   * @param owner see `documentOwner`.
   * @returns false: too many wait already; it is refused.
   */
  begin(owner: string, start: () => void): boolean {
    const known = this.#owners.get(owner);
    if (!known || (known.waiting.length === 0 && this.#fill(known) > 0 && this.#mayBegin(known))) {
      start();
      return true;
    }
    // Whoever has requests left may have as many more waiting.
    const room = maxWaiting + Math.max(0, this.#fill(known));
    if (known.waiting.length >= room || this.#waiting >= maxWaitingInAll) return false;
    known.waiting.push(start);
    this.#queues.add(known);
    this.#waiting += 1;
    this.#timer ??= setInterval(() => this.#next(), betweenMs);
    return true;
  }

  /** Says that a request of this owner was counted by nothing else. */
  charge(owner: string): void {
    const known = this.#owners.get(owner) ?? {
      left: most,
      leftToday: uncountedOfDay.burst,
      at: performance.now(),
      nextAt: 0,
      waiting: [],
      charged: 0,
    };
    // One that has requests under way when it is used up owes a second at most.
    known.left = Math.max(this.#fill(known) - 1, -perSecond);
    known.leftToday = Math.max(known.leftToday - 1, -1);
    known.charged += 1;
    // A Map keeps the order of insertion: the last used stands at the end.
    this.#owners.delete(owner);
    this.#owners.set(owner, known);
    const [oldest] = this.#owners.size > maxOwners ? this.#owners : [];
    if (oldest && oldest[1].waiting.length === 0) this.#owners.delete(oldest[0]);
  }

  /** Requests of this owner that nothing else counted, as long as it is remembered. */
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

  /** Takes the owner's turn, if it has one now. */
  #mayBegin(owner: Owner): boolean {
    const left = this.#fill(owner);
    const isUsedUp = owner.leftToday <= 0;
    if (left > most - atOnce && !isUsedUp) return true;
    if (owner.nextAt > owner.at) return false;
    const slowMs = 1_000 / (isUsedUp ? uncountedOfDay.perSecond : perSecond);
    owner.nextAt = owner.at + (left > 0 && !isUsedUp ? betweenMs : slowMs);
    return true;
  }

  /** One of each owner that has its turn. */
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
