/** A nonce whose bytes are not there by then is not waited for: its request may have ended, or its process. */
const timeoutMs = 1_000;

interface Turn {
  before: Promise<void>;
  pass: () => void;
}

/**
 * The order in which this process gave out a wallet's nonces, so that it sends them in that order too: what overtakes
 * its predecessor is refused by nodes that keep no queue. Nonces of other processes are not known here; what comes
 * too early because of them is sent again.
 */
export class SendingOrder {
  readonly #last = new Map<string, Promise<void>>();
  readonly #turns = new Map<string, Turn>();

  /** @param wallet names chain and wallet. Call it in the order of the nonces, as soon as they are given out. */
  take(wallet: string, intentId: string): void {
    if (this.#turns.has(intentId)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.pass(intentId), timeoutMs).unref();
    this.#turns.set(intentId, {
      before: this.#last.get(wallet) ?? Promise.resolve(),
      pass: () => {
        clearTimeout(timer);
        resolve();
      },
    });
    this.#last.set(wallet, promise);
  }

  /** Resolves when everything before this intent's nonce was handed to the sender, or is not waited for any more. */
  async before(intentId: string): Promise<void> {
    await this.#turns.get(intentId)?.before;
  }

  /** The next one's turn: this one was handed to the sender. */
  pass(intentId: string): void {
    const turn = this.#turns.get(intentId);
    this.#turns.delete(intentId);
    turn?.pass();
  }
}
