import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";

/** An in-memory token bucket: tokens refill over time, up to its capacity. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #most: number;
  #tokens: number;
  #filledAt = performance.now();

  /** @param most capacity: how many tokens may be taken at once. */
  constructor(perSecond: number, most: number) {
    this.#perSecond = perSecond;
    this.#most = most;
    this.#tokens = most;
  }

  /** Number of tokens available now. */
  get tokens(): number {
    const now = performance.now();
    this.#tokens = Math.min(this.#most, this.#tokens + ((now - this.#filledAt) / 1_000) * this.#perSecond);
    this.#filledAt = now;
    return this.#tokens;
  }

  take(count: number): void {
    this.#tokens = this.tokens - count;
  }

  /** Seconds until `count` tokens are available; at least 1. */
  secondsUntil(count: number): number {
    return Math.max(1, Math.ceil((count - this.tokens) / this.#perSecond));
  }
}

/** The share of a chain's budget that one account may use continuously; in a burst it may use half. */
const accountShare = 0.2;
/** Even with a small budget, a few requests fit into a burst. */
const leastAtOnce = 12;
/** Maximum cached accounts and chains; an evicted one starts with a full bucket, within the chain's budget. */
const maxKept = 10_000;

/**
 * Limits the calls to a chain's nodes by requests with a key while a client waits, such as preparing a creator's own
 * deployment. Per chain and process the budget is as large as readers', and separate; one account gets a fifth. Without
 * this a single key could cause calls as fast as requests are answered, and the relay would wait for the node.
 */
export class AccountCalls {
  readonly #perSecond: number;
  readonly #chains = new Map<number, TokenBucket>();
  readonly #accounts = new LRUCache<string, TokenBucket>(entryBound(maxKept));

  /** @param perSecond calls of one chain by all accounts; bursts may be twice as large. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /**
   * Takes the tokens for calls that are about to be made, for all or none of them.
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
