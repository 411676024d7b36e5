import type { Services } from "../services.ts";

export interface ServiceStatus {
  database: "ok" | "unreachable";
  chains: {
    chain: string;
    chainId: number;
    /** Last block the index has taken in; null before the first. */
    indexedBlock: string | null;
    indexedAt: string | null;
    lagSeconds: number | null;
  }[];
}

/** How the service is: for operators and load balancers; holds nothing of any account. */
export async function readStatus(services: Services): Promise<ServiceStatus> {
  const heads = await services.db
    .selectFrom("nft.heads")
    .select(["chain_id", "block_number", "block_timestamp"])
    .execute()
    .catch(() => null);
  const now = Date.now() / 1000;
  return {
    database: heads ? "ok" : "unreachable",
    chains: services.chains.map((chain) => {
      const head = heads?.find((row) => row.chain_id === chain.id);
      const timestamp = head ? Number(head.block_timestamp) : null;
      return {
        chain: chain.name,
        chainId: chain.id,
        indexedBlock: head ? String(head.block_number) : null,
        indexedAt: timestamp === null ? null : new Date(timestamp * 1000).toISOString(),
        lagSeconds: timestamp === null ? null : Math.max(0, Math.round(now - timestamp)),
      };
    }),
  };
}
