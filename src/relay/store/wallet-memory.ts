/** What a wallet's row says, as `lockWallet` reads it. */
interface WalletRow {
  basis: string | null;
  incarnation: string;
  next_nonce: bigint;
}

/**
 * What a process knows of each paying wallet that is not in its row. Losing it costs a question to the endpoints.
 *
 * A wallet is reconciled once blocks and mempools were asked which of its nonces are in use (`reconcileNonces`). It gives out no
 * nonce before: at the start of a process, in a database that is another one than they were last asked in
 * (`service.incarnation()`), and where its counter went back.
 */
export class WalletMemory {
  readonly #next = new Map<string, bigint>();
  readonly #mined = new Map<string, bigint>();
  readonly #preparing = new Map<string, number>();
  readonly #coming = new Map<string, string>();

  isReconciled(name: string, wallet: WalletRow): boolean {
    const known = this.#next.get(name);
    return known !== undefined && wallet.basis === wallet.incarnation && wallet.next_nonce >= known;
  }

  /** The lowest nonce that this process knows to be unused; null for a wallet that it knows nothing of. */
  nextOf(name: string): bigint | null {
    return this.#next.get(name) ?? null;
  }

  /** @param next the wallet's counter from now on. */
  reconciled(name: string, next: bigint): void {
    this.#next.set(name, next);
  }

  /** @param count the wallet's transactions in the newest block, as an endpoint says. */
  sawMined(name: string, count: bigint): void {
    this.#mined.set(name, count);
  }

  /** Transactions of a wallet in no block, as far as is known, and requests that are being prepared for it. */
  underWay(name: string, nextNonce: bigint): number {
    const mined = this.#mined.get(name) ?? nextNonce;
    const pending = mined < nextNonce ? Number(nextNonce - mined) : 0;
    return pending + (this.#preparing.get(name) ?? 0);
  }

  /** Does what ends with a signature of a request that may share one; `name` is the same for those that may. */
  async coming<T>(name: string, id: string, work: () => Promise<T>): Promise<T> {
    this.#coming.set(id, name);
    try {
      return await work();
    } finally {
      this.#coming.delete(id);
    }
  }

  /** It waits for its signature now. */
  arrived(id: string): void {
    this.#coming.delete(id);
  }

  /** Requests of a name that are on their way to a signature. */
  comingOf(name: string): number {
    return [...this.#coming.values()].filter((own) => own === name).length;
  }

  /** Does what ends with a nonce of the wallet, as a rule. */
  async preparing<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#preparing.set(name, (this.#preparing.get(name) ?? 0) + 1);
    try {
      return await work();
    } finally {
      this.#preparing.set(name, (this.#preparing.get(name) ?? 1) - 1);
    }
  }
}
