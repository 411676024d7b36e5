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
  /** Whether the account may deploy to chains on which fees are charged. */
  paidChains: boolean;
  /** How many days back the list of all NFTs of a chain goes. */
  windowDays: number | null;
  /** Bytes that the account may store, identical content counted once. */
  storageBytes: bigint | null;
  /** Concurrent uploads of one account in one process; further ones wait. */
  uploadsAtOnce: number | null;
  /** Mode-SIGN requests that wait for their transaction. */
  maxAwaitedDeployments: number | null;
  /** Stored presale lists, and the bytes of their entries in total. */
  maxAllowlists: number | null;
  allowlistBytes: bigint | null;
  /** Deployments and updates on all chains, once per 500,000 gas; those that ended without a nonce do not count. */
  transactionsPerDay: number | null;
  transactionsPerMonth: number | null;
  /** The most gas of one deployment, of one update, and of a mint, burn or transfer per token. */
  deployGas: bigint | null;
  updateGas: bigint | null;
  tokenGas: bigint | null;
  /** Requests that may ask a chain's node or store something, whatever their outcome. */
  deployRequestsPerDay: number | null;
  uploadRequestsPerDay: number | null;
  /** Webhook endpoints, and messages to all of them per day. */
  maxWebhooks: number | null;
  webhookTriesPerDay: number | null;
  /** Whether an endpoint may get the events of whole chains; otherwise it must name contracts. */
  wholeChainWebhooks: boolean;
}
