import { createFetcher } from "../../outbound/fetcher.ts";
import { HostLimits } from "../../outbound/host-limits.ts";
import type { Rounds } from "../../rounds.ts";
import { ContractCalls } from "../read/call-contract.ts";
import { GatewayBlocks } from "../read/gateway-blocks.ts";
import { MediaProbe } from "../read/probe-media.ts";
import { ChainReader } from "./chain-reader.ts";
import { Scheduler } from "./scheduler.ts";
import type { MetadataContext, Shared } from "./token-reader.ts";

/** Reads the metadata of all chains' tokens and contracts until the signal aborts. Outages are waited out. */
export async function runMetadata(services: MetadataContext, rounds: Rounds): Promise<void> {
  const { allowPrivateFetch, metadata, ipfs } = services.config;
  const limits = new HostLimits({ perHost: metadata.perHost, total: metadata.concurrency });
  const fetcher = createFetcher({ allowPrivate: allowPrivateFetch }, limits);
  const shared: Shared = {
    scheduler: new Scheduler({ ...metadata, chains: services.chains.length }),
    calls: new ContractCalls({ gas: metadata.callGas, returnedBytes: metadata.callBytes }),
    media: new MediaProbe(),
    sources: {
      content: services.content,
      gateways: ipfs.fetchGateways,
      blocks: new GatewayBlocks(fetcher),
      fetcher,
    },
  };
  try {
    await Promise.all(services.chains.map((chain) => new ChainReader(services, chain, shared, rounds).run()));
  } finally {
    await fetcher.close();
  }
}
