import { createConfig } from "ponder";
import { factoryEvents, nftEvents } from "./schema/nft-events.ts";

/** What the launcher (src/indexing) tells the Ponder process of one chain, as JSON in MINTYARD_PONDER. */
interface PonderSettings {
  chainId: number;
  rpcUrl: string;
  pollingIntervalMs: number;
  startBlock: number;
  factory: { address: `0x${string}`; startBlock: number } | null;
  databaseUrl: string;
  /** Hash of every file that decides what the tables hold. */
  salt: string;
}

const text = process.env["MINTYARD_PONDER"];
if (!text) throw new Error("MINTYARD_PONDER is missing: Ponder is started by `npm run indexer`, not by hand");
const settings = JSON.parse(text) as PonderSettings;

// Nobody can emit a log from the zero address: a chain without a factory has no collections of ours.
const factory = settings.factory ?? { address: `0x${"0".repeat(40)}` as const, startBlock: settings.startBlock };

export default createConfig({
  database: { kind: "postgres", connectionString: settings.databaseUrl, poolConfig: { max: 12 } },
  chains: {
    chain: {
      id: settings.chainId,
      // Each entry starts at 20 requests a second; the gateway behind them does the throttling.
      rpc: Array<string>(16).fill(settings.rpcUrl),
      pollingInterval: settings.pollingIntervalMs,
    },
  },
  contracts: {
    Nft: { abi: nftEvents, chain: "chain", startBlock: settings.startBlock },
    Factory: { abi: factoryEvents, chain: "chain", address: factory.address, startBlock: factory.startBlock },
    // Ponder's build id covers this config by value, but not the files below schema/.
    BuildSalt: { abi: [], chain: "chain", salt: settings.salt } as { abi: readonly []; chain: "chain" },
  },
});
