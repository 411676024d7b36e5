import { LRUCache } from "lru-cache";
import type { Address, Hex } from "viem";
import { entryBound } from "../cache-bounds.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { FairQueue } from "../fair-queue.ts";
import { Slots } from "../slots.ts";
import { TokenBucket } from "./account-calls.ts";
import type { RpcCall, RpcResult } from "./endpoint.ts";

/** The calls that one process may make to a chain's nodes for readers. */
interface ReaderBudget {
  /** Calls per second. Bursts may be twice as large. */
  perSecond: number;
  /** How long an answer is cached. */
  keptMs: number;
}

type Ask = (chain: Chain, calls: readonly RpcCall[]) => Promise<readonly RpcResult[]>;

/** Concurrent batches per chain, and calls per batch. */
const maxRunning = 4;
const maxInBatch = 50;
/** An owner may queue as many calls as the budget of a second has; the queue has space for this many such owners. */
const maxWaitingOwners = 20;
/** Calls in the queue that runs one at a time, including the running one. */
const maxAlone = 8;
/** A call that has waited this long is refused: its client is no longer waiting. */
const maxWaitMs = 3_000;
/** Interval of checking for new budget. */
const everyMs = 20;
/** Cached answers per chain. Each is a word or two from one of our contracts. */
const maxKept = 10_000;

/** Whose call it is, and how it is made. */
interface Reading {
  /** An account, or the IP address of a client without a key: owners take turns. */
  owner: string;
  /** Bypasses the cache; simultaneous equal calls still share one answer. */
  fresh?: boolean;
}

/**
 * Limits the calls that API clients and pages cause, separately from those of the relay and the index: bounded in rate
 * and number, sent in batches, and shared by all who want the same answer. A node overloaded by readers would answer
 * the relay late. Within the budget owners take turns, so that a heavy user makes only itself wait.
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
   * @returns the node's answer, a revert included; it may be `keptMs` old.
   * @throws ServiceError `service_unavailable` when the budget is used up; any error of `ask`.
   */
  async call(chain: Chain, to: Address, data: Hex, reading: Reading): Promise<RpcResult> {
    return await this.#of(chain).call(to, data, reading);
  }

  /** Any one call, uncached; batched with those of the same tick. */
  async ask(chain: Chain, call: RpcCall, owner: string): Promise<RpcResult> {
    return await this.#of(chain).send(call, owner);
  }

  /**
   * Waits for the turn of calls that are made in another way.
   *
   * @param calls how many there are.
   */
  async turn(chain: Chain, owner: string, calls: number): Promise<void> {
    await new Promise<void>((start, failed) => this.#of(chain).wait({ owner, calls, start, failed }));
  }

  /**
   * The same for a call that may keep a node busy for long: these run one at a time.
   *
   * @param calls the number that it counts as.
   */
  async alone<T>(chain: Chain, owner: string, calls: number, run: () => Promise<T>): Promise<T> {
    await this.turn(chain, owner, calls);
    return await this.#of(chain).alone(run);
  }

  #of(chain: Chain): ChainCalls {
    const calls = this.#chains.get(chain.id) ?? new ChainCalls(chain, this.#ask, this.#budget);
    this.#chains.set(chain.id, calls);
    return calls;
  }
}

interface Sent {
  call: RpcCall;
  done: (result: RpcResult) => void;
  failed: (error: unknown) => void;
}

interface Turn {
  owner: string;
  calls: number;
  start: () => void;
  failed: (error: unknown) => void;
}

class ChainCalls {
  readonly #chain: Chain;
  readonly #ask: Ask;
  readonly #keptMs: number;
  readonly #tokens: TokenBucket;
  readonly #kept: LRUCache<string, RpcResult>;
  /** Calls in flight, by contract and data. */
  readonly #asking = new Map<string, Promise<RpcResult>>();
  readonly #turns: FairQueue<Turn>;
  #timer: NodeJS.Timeout | undefined;
  /** Calls that have had their turn and go into the next batch. */
  readonly #next: Sent[] = [];
  #running = 0;
  readonly #alone = new Slots(1);

  constructor(chain: Chain, ask: Ask, budget: ReaderBudget) {
    this.#chain = chain;
    this.#ask = ask;
    this.#keptMs = budget.keptMs;
    this.#tokens = new TokenBucket(budget.perSecond, 2 * budget.perSecond);
    this.#turns = new FairQueue(maxWaitingOwners * budget.perSecond, budget.perSecond);
    this.#kept = new LRUCache({ ...entryBound(maxKept), ttl: budget.keptMs });
  }

  async call(to: Address, data: Hex, { owner, fresh = false }: Reading): Promise<RpcResult> {
    const name = `${to} ${data}`;
    const known = (fresh ? undefined : this.#kept.get(name)) ?? this.#asking.get(name);
    if (known) return await known;
    const answer = this.send({ method: "eth_call", params: [{ to, data }, "latest"] }, owner);
    this.#asking.set(name, answer);
    try {
      const result = await answer;
      // The library treats a TTL of 0 as unlimited.
      if (this.#keptMs > 0) this.#kept.set(name, result);
      return result;
    } finally {
      this.#asking.delete(name);
    }
  }

  send(call: RpcCall, owner: string): Promise<RpcResult> {
    return new Promise((done, failed) => {
      const start = () => {
        // The fields of a GraphQL request make their calls within one turn of the event loop.
        if (this.#next.length === 0) setImmediate(() => this.#flush());
        this.#next.push({ call, done, failed });
      };
      this.wait({ owner, calls: 1, start, failed });
    });
  }

  wait(turn: Turn): void {
    if (this.#turns.length === 0 && this.#mayTake()) {
      this.#tokens.take(turn.calls);
      turn.start();
      return;
    }
    const late = setTimeout(() => {
      this.#turns.remove(turn.owner, waiting);
      turn.failed(this.#refusal());
    }, maxWaitMs);
    const start = () => {
      clearTimeout(late);
      turn.start();
    };
    const waiting = { ...turn, start };
    if (this.#turns.push(turn.owner, waiting)) this.#timer ??= setInterval(() => this.#giveTurns(), everyMs);
    else {
      clearTimeout(late);
      turn.failed(this.#refusal());
    }
  }

  async alone<T>(run: () => Promise<T>): Promise<T> {
    if (this.#alone.running + this.#alone.waiting >= maxAlone) throw this.#refusal();
    return await this.#alone.run(run);
  }

  #mayTake(): boolean {
    // With more than this waiting, the node hangs, and its answers would come after the clients stopped waiting.
    return this.#tokens.tokens >= 1 && this.#next.length < 4 * maxInBatch;
  }

  #giveTurns(): void {
    while (this.#mayTake()) {
      const turn = this.#turns.shift();
      if (!turn) break;
      this.#tokens.take(turn.calls);
      turn.start();
    }
    if (this.#turns.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #refusal(): ServiceError {
    return new ServiceError(
      "service_unavailable",
      `this server asks the ${this.#chain.name} node for readers as often as it may; ask again in a second`,
      { retryAfterSeconds: 1 },
    );
  }

  #flush(): void {
    while (this.#running < maxRunning && this.#next.length > 0) void this.#run(this.#next.splice(0, maxInBatch));
  }

  async #run(batch: readonly Sent[]): Promise<void> {
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
