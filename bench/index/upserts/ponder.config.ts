import { createConfig } from "ponder";
import { nftEvents } from "../../../schema/nft-events.ts";

const { chainId, rpcUrl, databaseUrl } = JSON.parse(process.env["MINTYARD_PONDER"] ?? "{}");

export default createConfig({
  database: { kind: "postgres", connectionString: databaseUrl, poolConfig: { max: 12 } },
  chains: { chain: { id: chainId, rpc: Array<string>(16).fill(rpcUrl), pollingInterval: 100 } },
  contracts: { Nft: { abi: nftEvents, chain: "chain", startBlock: 0 } },
});
