/** Waiting items by account. Accounts take turns, so an account with many items delays only itself. */
export class FairQueue<T> {
  readonly #most: number;
  readonly #mostOfOne: number;
  /** Accounts in the order of their turns. */
  readonly #waiting = new Map<string, Set<T>>();
  #length = 0;

  /**
   * @param most items in total.
   * @param mostOfOne items of one account.
   */
  constructor(most: number, mostOfOne = Math.ceil(most / 2)) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns false: the queue is full. */
  push(account: string, item: T): boolean {
    const own = this.#waiting.get(account) ?? new Set();
    if (this.#length >= this.#most || own.size >= this.#mostOfOne) return false;
    own.add(item);
    this.#waiting.set(account, own);
    this.#length += 1;
    return true;
  }

  /**
   * The oldest item of the account whose turn it is.
   *
   * @param isReady whether an account may have its turn now; if not, it keeps its position.
   */
  shift(isReady: (account: string) => boolean = () => true): T | undefined {
    for (const [account, own] of this.#waiting) {
      if (!isReady(account)) continue;
      for (const item of own) {
        this.#take(account, own, item);
        // A Map keeps insertion order, so the account's next turn comes after everybody else's.
        if (own.size > 0) {
          this.#waiting.delete(account);
          this.#waiting.set(account, own);
        }
        return item;
      }
    }
    return undefined;
  }

  remove(account: string, item: T): void {
    const own = this.#waiting.get(account);
    if (own?.has(item)) this.#take(account, own, item);
  }

  #take(account: string, own: Set<T>, item: T): void {
    own.delete(item);
    this.#length -= 1;
    if (own.size === 0) this.#waiting.delete(account);
  }
}
