import { LRUCache } from "lru-cache";
import { backoffMs } from "../../backoff.ts";
import { entryBound } from "../../cache-bounds.ts";
import { toHex } from "../../db/bytes.ts";
import type { OutboundLimits } from "../../outbound/outbound-limits.ts";
import type { Pick, TokenJob } from "../store/queue.ts";
import type { DueContract } from "./due-contracts.ts";

/** Claimed tokens in memory, in all and per permit of a contract: claimed in portions, not one by one. */
const most = 256;
const perPermit = 8;
/** A third of the lease: what has not begun by then goes back. */
const timeoutMs = 20_000;
/** Every so often a contract's turn comes whatever its priority, so that a flood of mints starves nobody. */
const outOfTurn = 0.125;
const busyPause = { firstMs: 500, mostMs: 30_000 };

interface Waiting {
  job: TokenJob;
  since: number;
}

/** The claimed tokens of one chain that have not begun, and which contracts shall send more. */
export class WaitingJobs {
  readonly #chainId: number;
  readonly #limits: OutboundLimits;
  readonly #perContract: number;
  readonly #jobs = new Map<string, Waiting[]>();
  /** Contracts whose servers are busy. */
  readonly #pauses = new LRUCache<string, { until: number; times: number }>(entryBound(10_000));
  /** Contracts whose last document came from a server. */
  readonly #remote = new Set<string>();
  #count = 0;

  constructor(chainId: number, limits: OutboundLimits, perContract: number) {
    this.#chainId = chainId;
    this.#limits = limits;
    this.#perContract = perContract;
  }

  /** @returns how many tokens to claim of which contract. @param due the most urgent first. */
  pick(due: readonly DueContract[]): Pick[] {
    let room = most - this.#count;
    const picks: Pick[] = [];
    const picked = new Set<string>();
    const early = due.filter(() => Math.random() < outOfTurn).slice(0, 8);
    for (const { contract, priority } of [...early, ...due]) {
      if (room <= 0) break;
      const key = contractKey(this.#chainId, contract);
      if (picked.has(key) || this.#isPaused(key)) continue;
      if ((this.#jobs.get(key)?.length ?? 0) > this.#perContract) continue;
      picked.add(key);
      // Tokens that would wait for a server's minute are left where other workers find them.
      const ahead = this.#remote.has(key) ? 1 : perPermit;
      const count = Math.min(this.#perContract * ahead, room, Math.max(1, Math.ceil(most / due.length)));
      picks.push({ contract, priority, count });
      room -= count;
    }
    return picks;
  }

  add(jobs: readonly TokenJob[]): void {
    for (const job of jobs) {
      const key = contractKey(this.#chainId, job.contract);
      const list = this.#jobs.get(key) ?? [];
      list.push({ job, since: performance.now() });
      this.#jobs.set(key, list);
      this.#count += 1;
    }
  }

  /** The next job that may start, taken from the list; null when none may. */
  take(hasRoom: (contract: string) => boolean): { key: string; job: TokenJob } | null {
    for (const [key, list] of this.#jobs) {
      if (!hasRoom(key) || this.#isPaused(key)) continue;
      const first = list.shift();
      // The contract goes to the end of the row.
      this.#jobs.delete(key);
      if (list.length > 0) this.#jobs.set(key, list);
      if (!first) continue;
      this.#count -= 1;
      return { key, job: first.job };
    }
    return null;
  }

  /** Takes out what has waited too long, or everything. */
  takeOverdue(all = false): TokenJob[] {
    const before = all ? Number.POSITIVE_INFINITY : performance.now() - timeoutMs;
    const overdue: TokenJob[] = [];
    for (const [key, list] of this.#jobs) {
      const kept = list.filter(({ since }) => since >= before);
      overdue.push(...list.filter(({ since }) => since < before).map(({ job }) => job));
      if (kept.length > 0) this.#jobs.set(key, kept);
      else this.#jobs.delete(key);
    }
    this.#count -= overdue.length;
    return overdue;
  }

  /** The contract's server, or its minute, allows nothing now: the next try comes later each time. */
  pause(key: string, atLeastMs: number): number {
    const times = (this.#pauses.get(key)?.times ?? 0) + 1;
    const pauseMs = Math.max(backoffMs(times, busyPause), Math.min(atLeastMs, busyPause.mostMs));
    this.#pauses.set(key, { until: performance.now() + pauseMs, times });
    return pauseMs;
  }

  /** A token of the contract was read. @param remote from a server, not from what is stored here. */
  succeeded(key: string, remote: boolean): void {
    this.#pauses.delete(key);
    if (remote) this.#remote.add(key);
    else this.#remote.delete(key);
    if (this.#remote.size > 10_000) this.#remote.clear();
  }

  #isPaused(key: string): boolean {
    if (this.#remote.has(key) && this.#limits.waitMs(key) > 0) return true;
    const pause = this.#pauses.get(key);
    return pause !== undefined && pause.until > performance.now();
  }
}

/** Names a contract across chains. */
export function contractKey(chainId: number, contract: Buffer): string {
  return `${chainId}:${toHex(contract)}`;
}
