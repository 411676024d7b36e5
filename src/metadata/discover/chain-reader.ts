import { setTimeout as sleep } from "node:timers/promises";
import type { PublicClient } from "viem";
import type { Chain } from "../../chains.ts";
import type { MetadataContext } from "../context.ts";
import { type PinnedBlock, readHead } from "../read/call-contract.ts";
import { DueContracts } from "../schedule/due-contracts.ts";
import { type Shared, TokenReader } from "../schedule/token-reader.ts";
import { WaitingJobs } from "../schedule/waiting-jobs.ts";
import { claimContracts, readContract } from "../store/contracts.ts";
import { claimTokens, releaseToken, type TokenJob } from "../store/queue.ts";
import { refreshStatistics } from "../store/statistics.ts";
import { applyAnnouncements } from "./announcements.ts";
import { applyDemand } from "./apply-demand.ts";
import { applyRefreshes, discover, readIndexHead, sweep } from "./discover.ts";
import { dropDeadBranch, recordReadBlock } from "./forks.ts";

const sweepEveryMs = { local: 30_000, other: 600_000 };
const pollMs = { local: 200, other: 2_000 };
const outageMs = 2_000;
const topUpMs = 100;
const contractsAtOnce = 8;
const countEveryMs = 1_000;

/** One chain's loop: a node that is down stops only its own chain. */
export class ChainReader {
  readonly #services: MetadataContext;
  readonly #chain: Chain;
  readonly #client: PublicClient;
  readonly #shared: Shared;
  readonly #signal: AbortSignal;
  readonly #due: DueContracts;
  readonly #waiting: WaitingJobs;
  readonly #tokens: TokenReader;
  readonly #inFlight = new Set<Promise<void>>();
  /** The block of each claimed job: it is read at the head of its claim. */
  readonly #heads = new WeakMap<TokenJob, PinnedBlock>();
  #discoveredTo = -1n;
  #discoveredAt = Number.NEGATIVE_INFINITY;
  #sweptAt = Number.NEGATIVE_INFINITY;
  #countedAt = Number.NEGATIVE_INFINITY;
  #checkedHead = "";
  #wake: () => void = () => undefined;

  constructor(services: MetadataContext, chain: Chain, shared: Shared, signal: AbortSignal) {
    this.#services = services;
    this.#chain = chain;
    this.#client = services.rpc(chain);
    this.#shared = shared;
    this.#signal = signal;
    this.#due = new DueContracts(services.db, chain.id);
    this.#waiting = new WaitingJobs(chain.id, shared.limits, shared.pool.perContract);
    this.#tokens = new TokenReader(services, chain, this.#client, shared, this.#waiting, signal);
  }

  async run(): Promise<void> {
    const idle = this.#chain.local ? pollMs.local : pollMs.other;
    let failing = false;
    while (!this.#signal.aborted) {
      try {
        await this.#round(idle);
        failing = false;
        // A slow server holds its own permit only: the others are used again as they get free.
        if (this.#inFlight.size === 0) await this.#pause(idle);
        else await Promise.race([this.#oneEnds(), this.#pause(topUpMs)]);
      } catch (error) {
        if (!failing) this.#services.log.warn({ err: error, chain: this.#chain.name }, "metadata waits for an outage");
        failing = true;
        await this.#pause(outageMs);
      }
    }
    await Promise.allSettled(this.#inFlight);
    await this.#release(true).catch(() => undefined);
  }

  async #round(idle: number): Promise<void> {
    const { db } = this.#services;
    if (performance.now() - this.#discoveredAt >= idle) {
      await this.#discover();
      this.#discoveredAt = performance.now();
    }
    if (performance.now() - this.#countedAt >= countEveryMs) {
      await refreshStatistics(db);
      this.#countedAt = performance.now();
    }
    await this.#release(false);
    this.#startWaiting();
    const picks = this.#waiting.pick(await this.#due.read());
    const contracts = await claimContracts(db, this.#chain.id, contractsAtOnce);
    if (picks.length === 0 && contracts.length === 0) return;
    const head = await this.#readHead();
    for (const job of contracts)
      this.#start(() =>
        readContract(db, this.#client, head, job, {
          sources: this.#shared.sources,
          cachedBase: `${this.#services.config.publicUrl}/ipfs`,
          signal: this.#signal,
        }),
      );
    if (picks.length > 0) {
      const jobs = await claimTokens(db, this.#chain.id, picks);
      for (const job of jobs) this.#heads.set(job, head);
      this.#waiting.add(jobs);
    }
    this.#startWaiting();
  }

  #startWaiting(): void {
    const { pool } = this.#shared;
    for (;;) {
      const next = this.#waiting.take((key) => pool.hasRoom(this.#chain.id, key));
      const head = next && this.#heads.get(next.job);
      if (!next || !head) return;
      this.#start(() => pool.run(this.#chain.id, next.key, () => this.#tokens.read(next.job, next.key, head)));
    }
  }

  async #readHead(): Promise<PinnedBlock> {
    const head = await readHead(this.#client);
    if (head.hash === this.#checkedHead) return head;
    const { db } = this.#services;
    if (await dropDeadBranch(db, this.#client, this.#chain.id, head))
      this.#services.log.info(
        { chain: this.#chain.name, block: head.number },
        "metadata of a dead branch is read again",
      );
    await recordReadBlock(db, this.#chain.id, head);
    this.#checkedHead = head.hash;
    return head;
  }

  async #discover(): Promise<void> {
    const { db, config } = this.#services;
    await applyRefreshes(db, this.#chain.id);
    const head = await readIndexHead(db, this.#chain.id);
    if (head === null) return;
    await applyDemand(db, this.#chain.id);
    if (head !== this.#discoveredTo) {
      const found = await discover(db, this.#chain.id, head, config.metadata.firstTokens);
      // A reorganisation may need no new reading, and yet make the old ones stale.
      await this.#readHead();
      // Repeated while it brings something: the index may still be writing this block's neighbours.
      if (!found) this.#discoveredTo = head;
    }
    await applyAnnouncements(db, this.#chain.id, head, config.metadata.refreshWindowSeconds);
    if (performance.now() - this.#sweptAt < (this.#chain.local ? sweepEveryMs.local : sweepEveryMs.other)) return;
    await sweep(db, this.#chain.id, config.metadata.firstTokens);
    this.#sweptAt = performance.now();
  }

  #start(work: () => Promise<void>): void {
    const running = work()
      .catch((error) => this.#services.log.error({ err: error, chain: this.#chain.name }, "a metadata job broke"))
      .finally(() => {
        this.#inFlight.delete(running);
        this.#wake();
      });
    this.#inFlight.add(running);
  }

  #oneEnds(): Promise<void> {
    return new Promise((done) => {
      this.#wake = done;
    });
  }

  async #release(all: boolean): Promise<void> {
    for (const job of this.#waiting.takeOverdue(all)) await releaseToken(this.#services.db, job, 0);
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#signal }).catch(() => undefined);
  }
}
