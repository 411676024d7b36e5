import { LRUCache } from "lru-cache";
import type { Address, Hex } from "viem";
import { entryBound } from "../cache-bounds.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { RpcCall, RpcResult } from "./batch.ts";
import { TokenBucket } from "./token-bucket.ts";

/** What the readers of one chain may take of its nodes, by one process. */
export interface ReaderBudget {
  /** Calls per second. Twice as many may come at once. */
  perSecond: number;
  /** How long an answer is given again, from when it came. */
  keptMs: number;
}

type Ask = (chain: Chain, calls: readonly RpcCall[]) => Promise<readonly RpcResult[]>;

/** Batches of one chain that wait for its node at the same time, and calls of one batch. */
const maxRunning = 4;
const maxInBatch = 50;
/** Answers that are kept, of each chain. Each is a word or two of a contract of ours. */
const maxKept = 10_000;

/**
 * Calls of contracts for whoever asks over the API, apart from what the relay and the index ask: bounded in rate and
 * in number, sent in batches, and one call for all who want the same. A node that readers would overload answers the
 * relay late; so a call beyond the budget is refused at once and waits for nothing.
 */
export class ReaderCalls {
  readonly #ask: Ask;
  readonly #budget: ReaderBudget;
  readonly #chains = new Map<number, ChainCalls>();

  constructor(ask: Ask, budget: ReaderBudget) {
    this.#ask = ask;
    this.#budget = budget;
  }

  /**
   * One `eth_call` at the newest block.
   *
   * @param fresh asks anew, also where a kept answer is there; who wants the same at the same time still gets one answer.
   * @returns the node's answer, a revert included; it may be `keptMs` old.
   * @throws ServiceError `service_unavailable` when the budget is used up; what `ask` throws.
   */
  async call(chain: Chain, to: Address, data: Hex, fresh = false): Promise<RpcResult> {
    const calls = this.#chains.get(chain.id) ?? new ChainCalls(chain, this.#ask, this.#budget);
    this.#chains.set(chain.id, calls);
    return await calls.call(to, data, fresh);
  }
}

interface Waiting {
  call: RpcCall;
  done: (result: RpcResult) => void;
  failed: (error: unknown) => void;
}

class ChainCalls {
  readonly #chain: Chain;
  readonly #ask: Ask;
  readonly #keptMs: number;
  readonly #tokens: TokenBucket;
  readonly #kept: LRUCache<string, RpcResult>;
  /** By contract and data, until they are answered. */
  readonly #asking = new Map<string, Promise<RpcResult>>();
  readonly #waiting: Waiting[] = [];
  #running = 0;

  constructor(chain: Chain, ask: Ask, budget: ReaderBudget) {
    this.#chain = chain;
    this.#ask = ask;
    this.#keptMs = budget.keptMs;
    this.#tokens = new TokenBucket(budget.perSecond, 2 * budget.perSecond);
    this.#kept = new LRUCache({ ...entryBound(maxKept), ttl: budget.keptMs });
  }

  async call(to: Address, data: Hex, fresh: boolean): Promise<RpcResult> {
    const name = `${to} ${data}`;
    const known = (fresh ? undefined : this.#kept.get(name)) ?? this.#asking.get(name);
    if (known) return await known;
    this.#takeToken();
    const answer = this.#send({ method: "eth_call", params: [{ to, data }, "latest"] });
    this.#asking.set(name, answer);
    try {
      const result = await answer;
      // The library takes a time of nothing for one without an end.
      if (this.#keptMs > 0) this.#kept.set(name, result);
      return result;
    } finally {
      this.#asking.delete(name);
    }
  }

  #takeToken(): void {
    // Beyond that a node hangs, and its answers would come when nobody waits for them any more.
    if (this.#tokens.tokens >= 1 && this.#waiting.length < 4 * maxInBatch) {
      this.#tokens.take(1);
      return;
    }
    throw new ServiceError(
      "service_unavailable",
      `this server asks the ${this.#chain.name} node for readers as often as it may; ask again in a second`,
      { retryAfterSeconds: 1 },
    );
  }

  #send(call: RpcCall): Promise<RpcResult> {
    return new Promise((done, failed) => {
      // The fields of a request ask within one turn of the event loop.
      if (this.#waiting.length === 0) setImmediate(() => this.#flush());
      this.#waiting.push({ call, done, failed });
    });
  }

  #flush(): void {
    while (this.#running < maxRunning && this.#waiting.length > 0) void this.#run(this.#waiting.splice(0, maxInBatch));
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    this.#running += 1;
    try {
      const results = await this.#ask(
        this.#chain,
        batch.map(({ call }) => call),
      );
      for (const [index, { done }] of batch.entries()) done(results[index] as RpcResult);
    } catch (error) {
      for (const { failed } of batch) failed(error);
    } finally {
      this.#running -= 1;
      this.#flush();
    }
  }
}
