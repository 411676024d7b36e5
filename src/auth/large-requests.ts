import { ServiceError } from "../errors/errors.ts";
import type { Caller } from "./caller.ts";
import { type Bucket, dayOf, planOf, rateOf } from "./plans.ts";
import type { RateLimiter } from "./rate-limit.ts";

/** The files of a directory, or their bytes, that count as one upload. */
export const forOneUpload = { files: 250, bytes: 1_048_576 };
/** The entries of a presale list that count as one deployment. */
export const entriesForOneDeployment = 5_000;

/**
 * Counts the work of one large request as further requests. The request itself was counted as one before its size was
 * known.
 */
export class LargeRequest {
  readonly #limiter: RateLimiter | null;
  readonly #caller: Caller;
  readonly #bucket: Bucket;
  #counted = 1;

  /** @param limiter null: a gateway in front limits rates. */
  constructor(limiter: RateLimiter | null, caller: Caller, bucket: Bucket) {
    this.#limiter = limiter;
    this.#caller = caller;
    this.#bucket = bucket;
  }

  /**
   * @param requests what the content so far is worth; fractions of a request are free.
   * @param what the content, for the message.
   * @throws ServiceError `rate_limit_exceeded`.
   */
  async count(requests: number, what: string): Promise<void> {
    const more = Math.floor(requests) - this.#counted;
    if (more <= 0 || !this.#limiter) return;
    this.#counted += more;
    const plan = planOf(this.#caller);
    for (const [key, budget] of [
      [this.#bucket, rateOf(plan, this.#bucket)],
      [`${this.#bucket}-day`, dayOf(plan, this.#bucket)],
    ] as const) {
      if (!budget) continue;
      // A cost above the bucket's size takes the whole bucket.
      const cost = Math.min(more, budget.burst);
      const { allowed, retryAfterSeconds } = await this.#limiter.take(`${key}:${this.#caller.accountId}`, budget, cost);
      if (allowed) continue;
      const message = `too many requests: ${what} counts as ${this.#counted} requests; wait ${retryAfterSeconds} s`;
      throw new ServiceError("rate_limit_exceeded", message, {
        retryAfterSeconds,
        details: { requests: this.#counted, bucket: this.#bucket },
      });
    }
  }
}
