import { createConfig, factory as createdBy } from "ponder";
import { factoryEvents, nftEvents, operatorEvents } from "./schema/nft-events.ts";

/** What the launcher (src/indexing) tells the Ponder process of one chain, as JSON in MINTYARD_PONDER. */
interface PonderSettings {
  chainId: number;
  rpcUrl: string;
  /** Only asked like this when the websocket fails nine times. */
  pollingIntervalMs: number;
  startBlock: number;
  /** Announces new heads; everything else is asked over rpcUrl. */
  wsUrl: string | null;
  scope: "all" | "factory" | `0x${string}`[];
  factory: { address: `0x${string}`; startBlock: number } | null;
  /** Of product contracts, the present one and earlier ones. */
  operators: { address: `0x${string}`; startBlock: number }[];
  databaseUrl: string;
  /** Hash of every file that decides what the tables hold. */
  salt: string;
}

const text = process.env["MINTYARD_PONDER"];
if (!text) throw new Error("MINTYARD_PONDER is missing: Ponder is started by `npm run indexer`, not by hand");
const settings = JSON.parse(text) as PonderSettings;

// Nobody can emit a log from the zero address: a chain without a factory has no collections of ours.
const none = { address: `0x${"0".repeat(40)}` as const, startBlock: settings.startBlock };
const factory = settings.factory ?? none;
const operators = settings.operators.length > 0 ? settings.operators : [none];

/** Undefined: every contract. */
function scopeAddress() {
  if (settings.scope === "all") return undefined;
  if (settings.scope !== "factory") return settings.scope;
  const event = factoryEvents[0];
  return createdBy({ address: factory.address, event, parameter: "collection", startBlock: factory.startBlock });
}
const address = scopeAddress();

export default createConfig({
  database: { kind: "postgres", connectionString: settings.databaseUrl, poolConfig: { max: 12 } },
  chains: {
    chain: {
      id: settings.chainId,
      // Each entry starts at 20 requests a second; the gateway behind them does the throttling.
      rpc: Array<string>(16).fill(settings.rpcUrl),
      ...(settings.wsUrl ? { ws: settings.wsUrl } : {}),
      pollingInterval: settings.pollingIntervalMs,
    },
  },
  contracts: {
    Nft: { abi: nftEvents, chain: "chain", ...(address ? { address } : {}), startBlock: settings.startBlock },
    Factory: { abi: factoryEvents, chain: "chain", address: factory.address, startBlock: factory.startBlock },
    Operator: {
      ...{ abi: operatorEvents, chain: "chain", address: operators.map((one) => one.address) },
      startBlock: Math.min(...operators.map((one) => one.startBlock)),
    },
    // Ponder's build id covers this config by value, but not the files below schema/.
    BuildSalt: { abi: [], chain: "chain", salt: settings.salt } as { abi: readonly []; chain: "chain" },
  },
});
