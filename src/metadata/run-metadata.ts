import { setTimeout as sleep } from "node:timers/promises";
import type { PublicClient } from "viem";
import type { Chain } from "../chains.ts";
import { toHex } from "../db/bytes.ts";
import type { Services } from "../services.ts";
import { type PinnedBlock, readHead } from "./call-contract.ts";
import { claimContracts, readContract } from "./contracts.ts";
import { applyRefreshes, discover, readIndexHead, sweep } from "./discover.ts";
import { createFetcher, type Fetcher } from "./fetcher.ts";
import { claimTokens, dropToken, finishToken, hasDue, releaseToken, type TokenJob } from "./queue.ts";
import type { Sources } from "./read-document.ts";
import { readToken } from "./read-token.ts";

/** Tokens of one chain that are read at the same time. */
const concurrency = 16;
const sweepEveryMs = { local: 30_000, other: 600_000 };
const pollMs = { local: 200, other: 2_000 };
const outageMs = 2_000;
const topUpMs = 100;

/** Reads the metadata of all chains' tokens and contracts until `signal` aborts. Outages are waited out. */
export async function runMetadata(services: Services, signal: AbortSignal): Promise<void> {
  const fetcher = createFetcher({ allowPrivate: services.config.allowPrivateFetch });
  try {
    await Promise.all(services.chains.map((chain) => new ChainReader(services, chain, fetcher, signal).run()));
  } finally {
    await fetcher.close();
  }
}

/** One chain's loop: a node that is down stops only its own chain. */
class ChainReader {
  readonly #services: Services;
  readonly #chain: Chain;
  readonly #client: PublicClient;
  readonly #sources: Sources;
  readonly #signal: AbortSignal;
  readonly #inFlight = new Set<Promise<void>>();
  #discoveredTo = -1n;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(services: Services, chain: Chain, fetcher: Fetcher, signal: AbortSignal) {
    this.#services = services;
    this.#chain = chain;
    this.#client = services.rpc(chain);
    this.#sources = { content: services.content, gateways: services.config.ipfs.fetchGateways, fetcher };
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const idle = this.#chain.local ? pollMs.local : pollMs.other;
    let failing = false;
    while (!this.#signal.aborted) {
      try {
        const started = await this.#round();
        failing = false;
        // A slow server holds its own slot only: the others are filled again soon.
        if (started === 0) await this.#pause(idle);
        else await Promise.race([Promise.all(this.#inFlight), this.#pause(topUpMs)]);
      } catch (error) {
        if (!failing) this.#services.log.warn({ err: error, chain: this.#chain.name }, "metadata waits for an outage");
        failing = true;
        await this.#pause(outageMs);
      }
    }
    await Promise.allSettled(this.#inFlight);
  }

  /** @returns how many jobs were started. */
  async #round(): Promise<number> {
    const { db } = this.#services;
    await this.#lookOut();
    const free = concurrency - this.#inFlight.size;
    if (free <= 0) return this.#inFlight.size;
    if (!(await hasDue(db, this.#chain.id))) return 0;
    // Before the claim: without a node there is nothing to do with a job.
    const head = await readHead(this.#client);
    const contracts = await claimContracts(db, this.#chain.id, free);
    for (const job of contracts) this.#start(() => readContract(db, this.#client, head, job));
    const tokens = await claimTokens(db, this.#chain.id, Math.max(free - contracts.length, 1));
    for (const job of tokens) this.#start(() => this.#readToken(job, head));
    return contracts.length + tokens.length;
  }

  async #lookOut(): Promise<void> {
    const { db } = this.#services;
    await applyRefreshes(db, this.#chain.id);
    const head = await readIndexHead(db, this.#chain.id);
    if (head === null) return;
    if (head !== this.#discoveredTo) {
      const found = await discover(db, this.#chain.id, head);
      // Looked at once more while it brings something: the index may still be writing this block's neighbours.
      if (!found) this.#discoveredTo = head;
    }
    if (performance.now() - this.#sweptAt < (this.#chain.local ? sweepEveryMs.local : sweepEveryMs.other)) return;
    await sweep(db, this.#chain.id);
    this.#sweptAt = performance.now();
  }

  #start(work: () => Promise<void>): void {
    const running = work()
      .catch((error) => this.#services.log.error({ err: error, chain: this.#chain.name }, "a metadata job broke"))
      .finally(() => this.#inFlight.delete(running));
    this.#inFlight.add(running);
  }

  async #readToken(job: TokenJob, head: PinnedBlock): Promise<void> {
    const { db, log } = this.#services;
    if (job.standard === null) return await dropToken(db, job);
    if (job.mintBlock !== null && job.mintBlock > head.number) return await releaseToken(db, job, 1_000);
    const token = {
      contract: toHex(job.contract) as `0x${string}`,
      tokenId: BigInt(job.tokenId),
      standard: job.standard,
    };
    try {
      const reading = await readToken(this.#client, this.#sources, head, token, this.#signal);
      if (this.#signal.aborted) return await releaseToken(db, job, 0);
      await finishToken(db, job, head.number, reading);
    } catch (error) {
      log.error(
        { err: error, chain: this.#chain.name, contract: token.contract, tokenId: job.tokenId },
        "reading a token's metadata broke",
      );
      await finishToken(db, job, head.number, { outcome: "failed", fault: "internal_error", tokenUri: null });
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#signal }).catch(() => undefined);
  }
}
