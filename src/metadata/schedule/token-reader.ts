import type { Kysely } from "kysely";
import type { PublicClient } from "viem";
import type { Chain } from "../../chains.ts";
import type { Config } from "../../config/config.ts";
import { toHex } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { ContentStore } from "../../ipfs/content-store.ts";
import type { Fetcher } from "../../outbound/fetcher.ts";
import { Busy } from "../../outbound/host-limits.ts";
import type { RpcClients } from "../../rpc/clients.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { ContractCalls } from "../read/call-contract.ts";
import type { MediaProbe } from "../read/probe-media.ts";
import type { Sources } from "../read/read-document.ts";
import { readToken } from "../read/read-token.ts";
import { dropToken, finishFile, finishToken, releaseToken } from "../store/queue.ts";
import type { Scheduled, Scheduler } from "./scheduler.ts";

/** Dependencies of reading metadata. A process's `Services` has these members and more. */
export interface MetadataContext {
  config: Config;
  log: Logger;
  db: Kysely<Database>;
  chains: readonly Chain[];
  rpc: RpcClients;
  content: ContentStore;
}

/** Shared by the chains of one process. */
export interface Shared {
  scheduler: Scheduler;
  calls: ContractCalls;
  media: MediaProbe;
  sources: Sources;
}

/** One chain's part of the work. */
export interface ChainWork {
  services: MetadataContext;
  chain: Chain;
  client: PublicClient;
  shared: Shared;
  signal: AbortSignal;
}

/** Runs one token's job, from the contract call to its row. */
export async function readScheduled(
  { services, chain, client, shared, signal }: ChainWork,
  scheduled: Scheduled,
): Promise<void> {
  const { job, head } = scheduled;
  const { db, log } = services;
  if (job.standard === null) return await dropToken(db, job);
  if (job.mintBlock !== null && job.mintBlock > head.number) return await releaseToken(db, job, 1_000);
  const token = {
    contract: toHex(job.contract) as `0x${string}`,
    tokenId: BigInt(job.tokenId),
    standard: job.standard,
  };
  const { calls, media, scheduler, sources } = shared;
  const charged = chargedFetcher(shared, scheduled);
  try {
    const own = { ...sources, fetcher: charged.fetcher };
    const reading = await readToken(client, calls, own, media, head, token, signal);
    if (signal.aborted) return await releaseToken(db, job, 0);
    await finishToken(db, job, head, reading);
    scheduler.succeeded(scheduled, charged.wasUsed());
    const image = reading.outcome === "read" && reading.file === null ? reading.document.image : null;
    if (image === null) return;
    // The document is already stored, and the image's server may be slow.
    const file = await media.probe(sources, image, signal);
    if (!signal.aborted) await finishFile(db, job, image, file);
  } catch (error) {
    if (error instanceof Busy) return await releaseToken(db, job, scheduler.pause(scheduled, error.retryMs));
    log.error(
      { err: error, chain: chain.name, contract: token.contract, tokenId: job.tokenId },
      "reading a token's metadata broke",
    );
    const failed = { outcome: "failed", fault: "internal_error", tokenUri: null, raw: null } as const;
    await finishToken(db, job, head, failed);
  }
}

/** A fetcher that charges the contract for the token at the first request. */
function chargedFetcher({ scheduler, sources }: Shared, scheduled: Scheduled) {
  let used = false;
  const fetcher: Fetcher = {
    ...sources.fetcher,
    async fetch(url, options) {
      if (!used) scheduler.charge(scheduled);
      used = true;
      return await sources.fetcher.fetch(url, options);
    },
  };
  return { fetcher, wasUsed: () => used };
}
