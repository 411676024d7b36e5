import type { Tier } from "../db/tables/accounts.ts";

/** The policy of a tier; null is no limit. Counts of mints and contracts are per chain. */
export interface Plan {
  tier: Tier;
  readsPerSecond: number | null;
  uploadsPerMinute: number | null;
  deploysPerMinute: number | null;
  requestsPerMonth: bigint | null;
  mintsIncluded: number | null;
  maxMints: number | null;
  contractsIncluded: number | null;
  maxContracts: number | null;
  /** Largest `max_supply` of a collection. */
  maxSupply: bigint | null;
  /** Whether chains that book a fee may be deployed to. */
  paidChains: boolean;
  /** Days that the list of all NFTs of a chain goes back. */
  windowDays: number | null;
  /** Bytes that the account may keep, the same content counted once. */
  storageBytes: bigint | null;
  /** Of one account, in one process; further ones wait. */
  uploadsAtOnce: number | null;
  /** Requests of mode SIGN that wait for their transaction. */
  maxAwaitedDeployments: number | null;
  /** Presale lists that are kept, and the bytes of their entries together. */
  maxAllowlists: number | null;
  allowlistBytes: bigint | null;
  /** Deployments and updates together, on all chains, each once for half a million gas; those that ended without a nonce do not count. */
  transactionsPerDay: number | null;
  transactionsPerMonth: number | null;
  /** The most gas of one deployment, of one update, and of one mint, burn or transfer for each of its tokens. */
  deployGas: bigint | null;
  updateGas: bigint | null;
  tokenGas: bigint | null;
  /** Requests that may ask a chain's node or store something, whatever becomes of them. */
  deployRequestsPerDay: number | null;
  uploadRequestsPerDay: number | null;
  /** Endpoints that events are sent to, and messages to all of them in a day. */
  maxWebhooks: number | null;
  webhookTriesPerDay: number | null;
  /** Whether an endpoint may get events of whole chains; without it one names contracts. */
  wholeChainWebhooks: boolean;
}
