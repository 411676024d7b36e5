import { backoffMs } from "../../backoff.ts";
import { toHex } from "../../db/bytes.ts";
import { Busy } from "../../outbound/host-limits.ts";
import type { PinnedBlock } from "../read/call-contract.ts";
import type { ContractClaim, DueContract, TokenJob } from "../store/queue.ts";

/** Tokens that one chain has claimed but not begun. Tokens are claimed in portions, not one by one. */
const mostClaimed = 256;
/** How many tokens to claim of a contract whose documents need no server, as a multiple of its concurrent jobs. */
const claimAhead = 8;
/** A third of the lease: tokens that have not begun by then are released. */
const overdueMs = 20_000;
/** Share of claims that ignore priority, so that a flood of mints starves no contract. */
const outOfTurn = 0.125;
const busyPause = { firstMs: 500, mostMs: 30_000 };
/** The share of all jobs that one contract may have; one chain of several may have `chainShare`. */
const contractShare = 0.05;
const chainShare = 0.75;
/** Above this number idle contracts are dropped from memory. */
const keptContracts = 10_000;

export interface SchedulerBounds {
  /** Tokens that this process reads at the same time. */
  concurrency: number;
  /** Tokens per minute of one contract that need a server; after a pause as many at once. */
  perContractMinute: number;
  /** Number of chains in this process. */
  chains: number;
}

/** A job that has begun; pass it to `end` afterwards. */
export interface Scheduled {
  job: TokenJob;
  /** The block at which it is read: the head when it was claimed. */
  head: PinnedBlock;
  /** Key of the contract across chains. */
  contract: string;
}

interface Contract {
  waiting: { job: TokenJob; head: PinnedBlock; since: number }[];
  running: number;
  /** Its servers are busy until then, by `performance.now()`. */
  pausedUntil: number;
  /** Number of pauses in a row. */
  pauses: number;
  /** Whether its last document came from a server. */
  isRemote: boolean;
  /** When its budget of server reads is full again. */
  fullAt: number;
}

interface Chain {
  running: number;
  claimed: number;
  /** Contracts with claimed tokens, in the order of their turns. */
  turns: Map<string, Contract>;
}

/**
 * Decides for one worker process which tokens are claimed, and which of the claimed ones begin. Contracts take turns. A
 * slow contract, or a chain whose node hangs, only uses up its own share: tokens that it may not begin are claimed in
 * small numbers and released in time for other workers.
 */
export class Scheduler {
  readonly #concurrency: number;
  readonly #perChain: number;
  readonly #perContract: number;
  /** Milliseconds of a contract's budget that one token takes. */
  readonly #stepMs: number;
  readonly #chains = new Map<number, Chain>();
  readonly #contracts = new Map<string, Contract>();
  #running = 0;
  #pruneAt = keptContracts;

  constructor({ concurrency, perContractMinute, chains }: SchedulerBounds) {
    this.#concurrency = concurrency;
    this.#perChain = chains > 1 ? Math.max(1, Math.floor(concurrency * chainShare)) : concurrency;
    this.#perContract = Math.max(1, Math.floor(concurrency * contractShare));
    this.#stepMs = 60_000 / perContractMinute;
  }

  /** Number of contracts in memory. */
  get contracts(): number {
    return this.#contracts.size;
  }

  /** How many tokens to claim of which contract. @param due the most urgent first. */
  chooseClaims(chainId: number, due: readonly DueContract[]): ContractClaim[] {
    let room = mostClaimed - this.#chain(chainId).claimed;
    const claims = new Map<string, ContractClaim>();
    const early = due.filter(() => Math.random() < outOfTurn).slice(0, 8);
    for (const { contract, priority } of [...early, ...due]) {
      if (room <= 0) break;
      const key = keyOf(chainId, contract);
      const known = this.#contracts.get(key);
      if (claims.has(key) || (known && (isPaused(known) || known.waiting.length > this.#perContract))) continue;
      if (known?.isRemote && this.#waitMs(known) > 0) continue;
      // Tokens that would have to wait for the contract's per-minute budget are left to other workers.
      const ahead = known?.isRemote ? 1 : claimAhead;
      const count = Math.min(this.#perContract * ahead, room, Math.max(1, Math.ceil(mostClaimed / due.length)));
      claims.set(key, { contract, priority, count });
      room -= count;
    }
    return [...claims.values()];
  }

  /** Adds claimed tokens. @param head the chain's head at that time. */
  add(chainId: number, jobs: readonly TokenJob[], head: PinnedBlock): void {
    const chain = this.#chain(chainId);
    for (const job of jobs) {
      const key = keyOf(chainId, job.contract);
      const contract = this.#contract(key);
      contract.waiting.push({ job, head, since: performance.now() });
      chain.turns.set(key, contract);
      chain.claimed += 1;
    }
  }

  /** Begins the next permitted job; null when none is permitted now. */
  begin(chainId: number): Scheduled | null {
    const chain = this.#chain(chainId);
    if (this.#running >= this.#concurrency || chain.running >= this.#perChain) return null;
    for (const [key, contract] of chain.turns) {
      if (contract.running >= this.#perContract || isPaused(contract)) continue;
      if (contract.isRemote && this.#waitMs(contract) > 0) continue;
      const first = contract.waiting.shift();
      // The contract's next turn comes after those of all others.
      chain.turns.delete(key);
      if (contract.waiting.length > 0) chain.turns.set(key, contract);
      if (!first) continue;
      chain.claimed -= 1;
      this.#count(chain, contract, 1);
      return { job: first.job, head: first.head, contract: key };
    }
    return null;
  }

  end({ job, contract }: Scheduled): void {
    this.#count(this.#chain(job.chainId), this.#contract(contract), -1);
  }

  /** Removes tokens that were claimed too long ago, or all that have not begun, for the caller to release. */
  takeOverdue(chainId: number, all = false): TokenJob[] {
    const chain = this.#chain(chainId);
    const before = all ? Number.POSITIVE_INFINITY : performance.now() - overdueMs;
    const overdue: TokenJob[] = [];
    for (const [key, contract] of chain.turns) {
      overdue.push(...contract.waiting.filter(({ since }) => since < before).map(({ job }) => job));
      contract.waiting = contract.waiting.filter(({ since }) => since >= before);
      if (contract.waiting.length === 0) chain.turns.delete(key);
    }
    chain.claimed -= overdue.length;
    return overdue;
  }

  /** Charges a contract for a token that needs a server. @throws Busy when its budget of the minute is used up. */
  charge({ contract: key }: Scheduled): void {
    const contract = this.#contract(key);
    const waitMs = this.#waitMs(contract);
    if (waitMs > 0) throw new Busy(waitMs);
    contract.fullAt = Math.max(contract.fullAt, performance.now()) + this.#stepMs;
  }

  /** Pauses a contract whose servers or per-minute budget allow no request now. @returns the pause in ms, growing. */
  pause({ contract: key }: Scheduled, atLeastMs: number): number {
    const contract = this.#contract(key);
    contract.pauses += 1;
    const pauseMs = Math.max(backoffMs(contract.pauses, busyPause), Math.min(atLeastMs, busyPause.mostMs));
    contract.pausedUntil = performance.now() + pauseMs;
    return pauseMs;
  }

  /** A token was read. @param isRemote whether from a server, not from content stored here. */
  succeeded({ contract: key }: Scheduled, isRemote: boolean): void {
    Object.assign(this.#contract(key), { isRemote, pauses: 0, pausedUntil: 0 });
  }

  /** Time in ms until a token of the contract may be read from a server; 0: now. */
  #waitMs({ fullAt }: Contract): number {
    return Math.max(0, fullAt - performance.now() + this.#stepMs - 60_000);
  }

  #count(chain: Chain, contract: Contract, by: 1 | -1): void {
    this.#running += by;
    chain.running += by;
    contract.running += by;
  }

  #chain(chainId: number): Chain {
    const chain = this.#chains.get(chainId) ?? { running: 0, claimed: 0, turns: new Map() };
    this.#chains.set(chainId, chain);
    return chain;
  }

  #contract(key: string): Contract {
    const known = this.#contracts.get(key);
    if (known) return known;
    if (this.#contracts.size >= this.#pruneAt) this.#prune();
    const made = { waiting: [], running: 0, pausedUntil: 0, pauses: 0, isRemote: false, fullAt: 0 };
    this.#contracts.set(key, made);
    return made;
  }

  #prune(): void {
    const now = performance.now();
    for (const [key, { waiting, running, pausedUntil, fullAt }] of this.#contracts)
      if (waiting.length === 0 && running === 0 && pausedUntil <= now && fullAt <= now) this.#contracts.delete(key);
    // The next search for idle contracts waits until there are twice as many.
    this.#pruneAt = Math.max(keptContracts, 2 * this.#contracts.size);
  }
}

function isPaused({ pausedUntil }: Contract): boolean {
  return pausedUntil > performance.now();
}

function keyOf(chainId: number, contract: Buffer): string {
  return `${chainId}:${toHex(contract)}`;
}
