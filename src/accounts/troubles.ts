import { type SignerTrouble, signerActions } from "../signing/trouble.ts";

const signerTroubles = Object.keys(signerActions) as SignerTrouble[];

/**
 * What of a chain may not be as it should be; none of them keeps a process from answering. The console's operator page has a
 * sentence and a runbook for each (web/console/operator/advice.ts).
 */
export const chainTroubles = [
  /** No block of it is indexed yet. */
  "index_missing",
  /**
   * Its indexer has not reported lately, or has taken in no block for as long although the nodes have newer ones: `waitsFor`
   * says why.
   */
  "index_stalled",
  /** More blocks behind its node than `MAX_INDEX_LAG_BLOCKS`. */
  "index_behind",
  /** None of its endpoints has reported its head for ten seconds, or more: how far the index is behind is not known. */
  "nodes_unreachable",
  /** None of its endpoints had a usable answer when this process needed one for a transaction, in the last minute. */
  "nodes_useless",
  /** Its endpoints named different final blocks. */
  "nodes_disagree",
  /** Logs were found that its index lacks: the indexer's log says in which block and what to run. */
  "index_incomplete",
  /** Its newest block is more than a minute later than the database's clock: one of the two clocks is wrong. */
  "block_from_future",
  /** A paying wallet signs nothing: its state says why. */
  "wallet_paused_funds",
  "wallet_reconcile",
  "wallet_halted",
  /** A paying wallet has not the factory's relayer role, so it deploys nothing: `mintyard wallets grant`. */
  "wallet_without_role",
  /** Another installation has sent transactions from a wallet of this one in the last day. */
  "wallet_shared",
  /** What signs for its wallets does not, or not what it is asked for; the log of this process says why. */
  ...signerTroubles.map((trouble) => `signer_${trouble}` as const),
  /** No worker that signs has reported in the last minute: accepted requests wait. */
  "worker_missing",
  /** A deployment has waited for its signature for ten minutes. */
  "queue_stuck",
] as const;

export type ChainTrouble = (typeof chainTroubles)[number];
