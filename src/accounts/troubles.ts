import { type SignerTrouble, signerActions } from "../signing/trouble.ts";

const signerTroubles = Object.keys(signerActions) as SignerTrouble[];

/**
 * Conditions of a chain that may need attention; none of them keeps a process from answering. The console's operator
 * page has a sentence and a runbook for each (web/console/operator/advice.ts).
 */
export const chainTroubles = [
  /** No block is indexed yet. */
  "index_missing",
  /**
   * Its indexer has not reported lately, or has taken in no block for that long although its nodes have newer ones:
   * `waitsFor` says why.
   */
  "index_stalled",
  /** The index is more than `MAX_INDEX_LAG_BLOCKS` blocks behind its node. */
  "index_behind",
  /** None of its endpoints has reported a head for ten seconds or more, so the index's lag is unknown. */
  "nodes_unreachable",
  /** In the last minute no endpoint gave a usable answer when this process needed one for a transaction. */
  "nodes_useless",
  /** Its endpoints reported different final blocks. */
  "nodes_disagree",
  /** The index lacks logs that an endpoint has: the indexer's log says in which block and what to run. */
  "index_incomplete",
  /** Its newest block is more than a minute ahead of the database's clock: one of the two clocks is wrong. */
  "block_from_future",
  /** A paying wallet does not sign: its state says why. */
  "wallet_paused_funds",
  "wallet_reconcile",
  "wallet_halted",
  /** A paying wallet lacks the factory's relayer role, so it deploys nothing: run `mintyard wallets grant`. */
  "wallet_without_role",
  /** Another installation has sent transactions from one of this installation's wallets in the last day. */
  "wallet_shared",
  /** The signer of its wallets does not sign, or signs something else than requested; this process's log says why. */
  ...signerTroubles.map((trouble) => `signer_${trouble}` as const),
  /** No signing worker has reported in the last minute: accepted requests wait. */
  "worker_missing",
  /** A deployment has waited ten minutes for its signature. */
  "queue_stuck",
] as const;

export type ChainTrouble = (typeof chainTroubles)[number];
