/** What a wallet's row says, as `lockWallet` reads it. */
interface WalletBasis {
  basis: string | null;
  incarnation: string;
  next_nonce: bigint;
}

/**
 * Up to which nonce this process knows each wallet. A wallet gives out no nonce before the mempools were asked: at the
 * start of a process, in a database that is another one than they were last asked in (`service.incarnation()`), and
 * where its counter went back.
 */
export class NonceBasis {
  readonly #known = new Map<string, bigint>();
  readonly #asking = new Map<string, Promise<Unready | null>>();

  /** Whether a wallet may give out a nonce. */
  holds(name: string, wallet: WalletBasis): boolean {
    const known = this.#known.get(name);
    return known !== undefined && wallet.basis === wallet.incarnation && wallet.next_nonce >= known;
  }

  /** The lowest nonce that this process knows to be unused; null for a wallet that it knows nothing of. */
  nextOf(name: string): bigint | null {
    return this.#known.get(name) ?? null;
  }

  /** Everybody who needs a wallet's basis at the same time waits for one look. */
  async together(name: string, ask: () => Promise<Unready | null>): Promise<Unready | null> {
    const asking = this.#asking.get(name) ?? ask().finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    return await asking;
  }

  /** @param next the wallet's counter from now on. */
  record(name: string, next: bigint): void {
    this.#known.set(name, next);
  }
}

/** Why a wallet gives out no nonce. */
export interface Unready {
  reason: string;
  soon: boolean;
}
