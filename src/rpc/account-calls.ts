import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";

/** A rate in memory: tokens come back with time, up to as many as fit. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #most: number;
  #tokens: number;
  #filledAt = performance.now();

  /** @param most how many may be taken at once. */
  constructor(perSecond: number, most: number) {
    this.#perSecond = perSecond;
    this.#most = most;
    this.#tokens = most;
  }

  /** How many could be taken now. */
  get tokens(): number {
    const now = performance.now();
    this.#tokens = Math.min(this.#most, this.#tokens + ((now - this.#filledAt) / 1_000) * this.#perSecond);
    this.#filledAt = now;
    return this.#tokens;
  }

  take(count: number): void {
    this.#tokens = this.tokens - count;
  }

  /** Until so many can be taken; at least 1. */
  secondsUntil(count: number): number {
    return Math.max(1, Math.ceil((count - this.tokens) / this.#perSecond));
  }
}

/** Of a chain's budget, what one account may take for good; at once it may take half. */
const accountShare = 0.2;
/** However small a budget is, a few requests fit at once. */
const leastAtOnce = 12;
/** Accounts and chains that are remembered; one that is forgotten begins anew, within the chain's budget. */
const maxKept = 10_000;

/**
 * What requests with a key may ask of a chain's nodes while somebody waits, such as preparing a creator's own deployment:
 * for each chain and process as much as readers have, apart from them, and for one account a fifth of that. Without it
 * a single key could ask as often as requests are answered, and the relay would wait for the node.
 */
export class AccountCalls {
  readonly #perSecond: number;
  readonly #chains = new Map<number, TokenBucket>();
  readonly #accounts = new LRUCache<string, TokenBucket>(entryBound(maxKept));

  /** @param perSecond calls of one chain by all accounts; twice as many may come at once. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /**
   * Counts calls that are about to be made, all or none of them.
   *
   * @throws ServiceError `rate_limit_exceeded` at the account's share, `service_unavailable` at the chain's budget.
   */
  take(chain: Chain, account: string, calls: number): void {
    const ofChain = this.#chains.get(chain.id) ?? bucket(this.#perSecond, 2 * this.#perSecond);
    this.#chains.set(chain.id, ofChain);
    const name = `${chain.id} ${account}`;
    const ofAccount = this.#accounts.get(name) ?? bucket(this.#perSecond * accountShare, this.#perSecond);
    this.#accounts.set(name, ofAccount);
    if (ofAccount.tokens < calls)
      throw new ServiceError(
        "rate_limit_exceeded",
        `your account makes this server ask the ${chain.name} node as often as it may; ask again in a moment`,
        { retryAfterSeconds: ofAccount.secondsUntil(calls) },
      );
    if (ofChain.tokens < calls)
      throw new ServiceError(
        "service_unavailable",
        `this server asks the ${chain.name} node for accounts as often as it may; ask again in a moment`,
        { retryAfterSeconds: ofChain.secondsUntil(calls) },
      );
    ofAccount.take(calls);
    ofChain.take(calls);
  }
}

function bucket(perSecond: number, atOnce: number): TokenBucket {
  return new TokenBucket(perSecond, Math.max(atOnce, leastAtOnce));
}
