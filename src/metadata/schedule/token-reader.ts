import type { PublicClient } from "viem";
import type { Chain } from "../../chains.ts";
import { toHex } from "../../db/bytes.ts";
import type { Fetcher } from "../../outbound/fetcher.ts";
import { Busy } from "../../outbound/host-limits.ts";
import type { MetadataContext } from "../context.ts";
import type { ContractCalls } from "../read/call-contract.ts";
import type { MediaProbe } from "../read/probe-media.ts";
import type { Sources } from "../read/read-document.ts";
import { readToken } from "../read/read-token.ts";
import { dropToken, finishFile, finishToken, releaseToken } from "../store/queue.ts";
import type { Scheduled, Scheduler } from "./scheduler.ts";

/** What the chains of one process share. */
export interface Shared {
  scheduler: Scheduler;
  calls: ContractCalls;
  media: MediaProbe;
  sources: Sources;
}

/** Does one token's job from the call of the contract to its row. */
export class TokenReader {
  readonly #services: MetadataContext;
  readonly #chain: Chain;
  readonly #client: PublicClient;
  readonly #shared: Shared;
  readonly #signal: AbortSignal;

  constructor(services: MetadataContext, chain: Chain, client: PublicClient, shared: Shared, signal: AbortSignal) {
    this.#services = services;
    this.#chain = chain;
    this.#client = client;
    this.#shared = shared;
    this.#signal = signal;
  }

  async read(scheduled: Scheduled): Promise<void> {
    const { job, head } = scheduled;
    const { db, log } = this.#services;
    if (job.standard === null) return await dropToken(db, job);
    if (job.mintBlock !== null && job.mintBlock > head.number) return await releaseToken(db, job, 1_000);
    const token = {
      contract: toHex(job.contract) as `0x${string}`,
      tokenId: BigInt(job.tokenId),
      standard: job.standard,
    };
    const { calls, media, scheduler, sources } = this.#shared;
    const charged = this.#charge(scheduled);
    const own = { ...sources, fetcher: charged.fetcher };
    try {
      const reading = await readToken(this.#client, calls, own, media, head, token, this.#signal);
      if (this.#signal.aborted) return await releaseToken(db, job, 0);
      await finishToken(db, job, head, reading);
      scheduler.succeeded(scheduled, charged.wasUsed());
      const image = reading.outcome === "read" && reading.file === null ? reading.document.image : null;
      if (image === null) return;
      // The document is there to be read; its image's server may take its time.
      const file = await media.probe(sources, image, this.#signal);
      if (!this.#signal.aborted) await finishFile(db, job, image, file);
    } catch (error) {
      if (error instanceof Busy) {
        const pauseMs = scheduler.pause(scheduled, error.retryMs);
        return await releaseToken(db, job, pauseMs);
      }
      log.error(
        { err: error, chain: this.#chain.name, contract: token.contract, tokenId: job.tokenId },
        "reading a token's metadata broke",
      );
      const failed = { outcome: "failed", fault: "internal_error", tokenUri: null, raw: null } as const;
      await finishToken(db, job, head, failed);
    }
  }

  /** A fetcher that counts the token with its contract at the first request. */
  #charge(scheduled: Scheduled): { fetcher: Fetcher; wasUsed: () => boolean } {
    const { scheduler, sources } = this.#shared;
    let used = false;
    const count = () => {
      if (!used) scheduler.charge(scheduled);
      used = true;
    };
    const fetcher: Fetcher = {
      fetch: async (url, options) => {
        count();
        return await sources.fetcher.fetch(url, options);
      },
      fetchHead: sources.fetcher.fetchHead,
      close: sources.fetcher.close,
    };
    return { fetcher, wasUsed: () => used };
  }
}
