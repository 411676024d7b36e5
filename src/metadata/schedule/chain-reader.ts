import { setTimeout as sleep } from "node:timers/promises";
import type { PublicClient } from "viem";
import type { Chain } from "../../chains.ts";
import type { MetadataContext } from "../context.ts";
import { applyAnnouncements } from "../discover/announcements.ts";
import { applyDemand } from "../discover/apply-demand.ts";
import { applyRefreshes, discover, readIndexHead, sweep } from "../discover/discover.ts";
import { dropDeadBranch, recordReadBlock } from "../discover/forks.ts";
import { type PinnedBlock, readHead } from "../read/call-contract.ts";
import { claimContracts, readContract } from "../store/contracts.ts";
import { claimTokens, type DueContract, listDueContracts, releaseTokens } from "../store/queue.ts";
import { refreshStatistics } from "../store/statistics.ts";
import { type Shared, TokenReader } from "./token-reader.ts";

const sweepEveryMs = { local: 30_000, other: 600_000 };
const pollMs = { local: 200, other: 2_000 };
const outageMs = 2_000;
const topUpMs = 100;
const contractsAtOnce = 8;
const countEveryMs = 1_000;
const mostDueContracts = 4_000;
/** The list of contracts with tokens due may take this part of a chain's time. */
const dueShare = 0.05;

/** One chain's loop: a node that is down stops only its own chain. */
export class ChainReader {
  readonly #services: MetadataContext;
  readonly #chain: Chain;
  readonly #client: PublicClient;
  readonly #shared: Shared;
  readonly #signal: AbortSignal;
  readonly #tokens: TokenReader;
  readonly #inFlight = new Set<Promise<void>>();
  #due: { contracts: DueContract[]; until: number } = { contracts: [], until: 0 };
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
    this.#tokens = new TokenReader(services, chain, this.#client, shared, signal);
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
    const { scheduler } = this.#shared;
    const claims = scheduler.chooseClaims(this.#chain.id, await this.#readDue());
    const contracts = await claimContracts(db, this.#chain.id, contractsAtOnce);
    if (claims.length === 0 && contracts.length === 0) return;
    const head = await this.#readHead();
    for (const job of contracts)
      this.#start(() =>
        readContract(db, this.#client, head, job, {
          sources: this.#shared.sources,
          cachedBase: `${this.#services.config.publicUrl}/ipfs`,
          signal: this.#signal,
        }),
      );
    if (claims.length > 0) {
      const jobs = await claimTokens(db, this.#chain.id, claims);
      scheduler.add(this.#chain.id, jobs, head);
    }
    this.#startWaiting();
  }

  #startWaiting(): void {
    const { scheduler } = this.#shared;
    for (let next = scheduler.begin(this.#chain.id); next; next = scheduler.begin(this.#chain.id)) {
      const scheduled = next;
      this.#start(async () => {
        try {
          await this.#tokens.read(scheduled);
        } finally {
          scheduler.end(scheduled);
        }
      });
    }
  }

  /** A short list is as good as free. One that takes long is used for longer. */
  async #readDue(): Promise<readonly DueContract[]> {
    const begun = performance.now();
    if (begun < this.#due.until) return this.#due.contracts;
    const contracts = await listDueContracts(this.#services.db, this.#chain.id, mostDueContracts);
    const tookMs = performance.now() - begun;
    this.#due = { contracts, until: tookMs > 20 ? begun + tookMs / dueShare : 0 };
    return contracts;
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
    await releaseTokens(this.#services.db, this.#shared.scheduler.takeOverdue(this.#chain.id, all));
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#signal }).catch(() => undefined);
  }
}
