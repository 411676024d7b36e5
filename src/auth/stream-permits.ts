import { ServiceError } from "../errors/errors.ts";

interface StreamBounds {
  /** Open streams per account. */
  ofAccount: number;
  /** Open streams per process, of all accounts. */
  ofProcess: number;
}

export const usualStreams: StreamBounds = { ofAccount: 20, ofProcess: 2_000 };

/**
 * Counts this process's open streams. A stream is a request without an end, so neither its account's rate nor the bound
 * on concurrent requests limits it.
 */
export class StreamPermits {
  readonly #bounds: StreamBounds;
  readonly #accounts = new Map<string, number>();
  #open = 0;

  constructor(bounds: StreamBounds = usualStreams) {
    this.#bounds = bounds;
  }

  get open(): number {
    return this.#open;
  }

  /**
   * @returns a function that returns the permit; further calls do nothing.
   * @throws ServiceError `rate_limit_exceeded` at the account's bound, `service_unavailable` at the process's.
   */
  take(account: string): () => void {
    const { ofAccount, ofProcess } = this.#bounds;
    const mine = this.#accounts.get(account) ?? 0;
    if (mine >= ofAccount) {
      throw new ServiceError(
        "rate_limit_exceeded",
        `your account has ${mine} open streams, the most that it may have; close one first`,
        { retryAfterSeconds: 30, details: { open: mine, limit: ofAccount } },
      );
    }
    if (this.#open >= ofProcess) {
      throw new ServiceError("service_unavailable", "this server has no room for a further stream; try again", {
        retryAfterSeconds: 5,
      });
    }
    this.#accounts.set(account, mine + 1);
    this.#open += 1;
    let taken = true;
    return () => {
      if (!taken) return;
      taken = false;
      this.#open -= 1;
      const left = (this.#accounts.get(account) ?? 1) - 1;
      if (left > 0) this.#accounts.set(account, left);
      else this.#accounts.delete(account);
    };
  }
}
