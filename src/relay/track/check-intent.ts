import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toHash } from "../../db/bytes.ts";
import { refusalInBatch } from "../chain/batch-call.ts";
import type { RelayContext } from "../chain/context.ts";
import { agreeOnDone, isIntentDone } from "../chain/intent-done.ts";
import { announcesOperation, isOperation } from "../chain/operation.ts";
import { agreeOnOutcome } from "../chain/quorum.ts";
import { costOf, type Receipt } from "../chain/reads.ts";
import { effectOfUpdate } from "../chain/update-effect.ts";
import { announcesCollection, verifyDeployment } from "../chain/verify-deployment.ts";
import { verifyOperation } from "../chain/verify-operation.ts";
import { type ChainView, depthOf } from "../chain/view.ts";
import { failpoint } from "../store/failpoint.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import type { MinedState } from "../store/lifecycle.ts";
import { type Attempt, type BlockRef, markMined, markUnmined, type NonceReservation } from "../store/nonces.ts";
import { endAsFound } from "../submit/end-as-found.ts";
import { batchFailed, endCancelled, endReverted } from "./end-reverted.ts";
import { startRetry } from "./nonce-conflict.ts";
import { explainUsedNonce } from "./used-nonce.ts";

/** An intent whose fate the chain decides, with its nonce. */
export interface WatchedIntent {
  intent: Intent;
  reservation: NonceReservation;
  /** Newest first; only read for those that are not mined. */
  attempts: readonly Attempt[];
  /** Since its last change, by the database's clock. */
  ageMs: number;
}

/** What one round learned from the chain. */
export interface Evidence {
  view: ChainView;
  /** Canonical ones only. */
  receipts: ReadonlyMap<Hash, Receipt>;
  /** By number, as far as enough endpoints agree. */
  blocks: ReadonlyMap<bigint, Hash>;
  /** Rounds in a row in which an intent's nonce was used and none of its transactions was to be found. */
  missing: Map<string, number>;
}

/**
 * Moves one intent by what the chain shows.
 *
 * @returns the intent as it stands afterwards; null when another process moved it meanwhile.
 */
export async function watchIntent(
  services: RelayContext,
  chain: Chain,
  watched: WatchedIntent,
  evidence: Evidence,
): Promise<Intent | null> {
  const moved = await moveByChain(services, chain, watched, evidence);
  if (moved) services.relay.figures.recordStage(chain, watched.intent.state, moved);
  return moved;
}

async function moveByChain(
  services: RelayContext,
  chain: Chain,
  watched: WatchedIntent,
  evidence: Evidence,
): Promise<Intent | null> {
  const { state } = watched.intent;
  switch (state) {
    case "assigned":
    case "signed":
    case "in_flight":
      return await findReceipt(services, chain, watched, evidence);
    case "mined":
    case "mined_reverted":
    case "mined_cancellation":
    case "confirmed":
      return await followBlock(services, chain, { ...watched, state }, evidence);
    case "nonce_conflict":
      return await startRetry(services, chain, watched.intent, evidence.view);
    // Without a nonce of its own there is nothing of it on the chain, or it is its lead's (follow-batches.ts); and after
    // its end nothing changes.
    case "batched":
    case "queued":
    case "held":
    case "finalized":
    case "failed_onchain":
    case "cancelled":
    case "expired":
    case "retried":
      return watched.intent;
    default:
      return state satisfies never;
  }
}

async function findReceipt(
  services: RelayContext,
  chain: Chain,
  watched: WatchedIntent,
  { receipts, view, missing }: Evidence,
): Promise<Intent | null> {
  const { intent, attempts, reservation } = watched;
  for (const attempt of attempts) {
    const hash = toHash(attempt.hash);
    const receipt = receipts.get(hash);
    if (!receipt) continue;
    const block = { number: receipt.blockNumber, hash: receipt.blockHash };
    const costWei = costOf(receipt, attempt.max_fee);
    const succeeded = receipt.status === 1n && !(intent.batch_call && refusalInBatch(receipt, intent) !== null);
    const to = attempt.kind === "cancellation" ? "mined_cancellation" : succeeded ? "mined" : "mined_reverted";
    if (to === "mined" && intent.kind === "deploy" && !announcesCollection(receipt, intent)) {
      services.log.error({ intent: intent.id, hash }, "a deployment succeeded without its collection");
      continue;
    }
    if (to === "mined" && isOperation(intent.kind) && !announcesOperation(receipt, intent)) {
      services.log.error({ intent: intent.id, hash }, "a call of the operator succeeded without its event");
      continue;
    }
    if (to === "mined" && intent.kind === "update") {
      const effect = await effectOfUpdate(services, chain, intent, receipt);
      if (effect === "unknown") return intent;
      if (effect === "none") return await repeatUpdate(services, watched, { hash, block, costWei }, view);
    }
    services.log.info({ intent: intent.id, hash, block: block.number, outcome: to }, "mined");
    missing.delete(intent.id);
    return await services.db.transaction().execute(async (transaction) => {
      const moved = await markMined(transaction, intent, to, hash, block, costWei);
      failpoint("mined-before-commit");
      return moved;
    });
  }
  const wallet = view.wallets.get(`0x${reservation.addr.toString("hex")}`);
  if (!wallet || wallet.finalNonce === null || wallet.finalNonce <= reservation.nonce) {
    missing.delete(intent.id);
    return intent;
  }
  // The nonce is used for good, and by none of our transactions that an endpoint knows of.
  const rounds = (missing.get(intent.id) ?? 0) + 1;
  missing.set(intent.id, rounds);
  // Endpoints index receipts late, and may be wrong; a nonce that is really gone stays gone.
  return rounds < 5 ? intent : await explainUsedNonce(services, chain, watched, view);
}

/** Its nonce is used up for nothing: once that is final, the request goes on as a retry. */
async function repeatUpdate(
  services: RelayContext,
  { intent }: WatchedIntent,
  { hash, block, costWei }: { hash: Hash; block: BlockRef; costWei: bigint },
  view: ChainView,
): Promise<Intent | null> {
  if (block.number > view.finalized) return intent;
  services.log.warn({ intent: intent.id, hash }, "an update was mined before its collection stood; it is repeated");
  return await services.db.transaction().execute(async (transaction) => {
    const mined = await markMined(transaction, intent, "mined", hash, block, costWei);
    return mined && (await moveIntent(transaction, mined, "nonce_conflict", "no_effect"));
  });
}

async function followBlock(
  services: RelayContext,
  chain: Chain,
  { intent, reservation, state }: WatchedIntent & { state: MinedState },
  { view, blocks }: Evidence,
): Promise<Intent | null> {
  if (!reservation.mined_block_hash || reservation.mined_block === null || !reservation.mined_attempt)
    throw new Error(`intent ${intent.id} is mined nowhere`);
  const number = reservation.mined_block;
  const now = blocks.get(number);
  // A head behind the block, a block that is not there, endpoints at odds: lag, not a reorganisation.
  if (number > view.head || now === undefined) return intent;
  if (now !== toHash(reservation.mined_block_hash)) {
    const context = { intent: intent.id, block: number, state };
    if (state === "confirmed")
      services.log.error(context, "incident: a confirmed block is gone; the address is withdrawn");
    else services.log.warn(context, "the block of a deployment is gone");
    return await services.db.transaction().execute((transaction) => markUnmined(transaction, intent));
  }
  // A mined request is confirmed once enough blocks stand on its own; every other outcome waits for the chain's finality.
  const isDue = state === "mined" ? depthOf(view, number) >= BigInt(chain.confirmations) : number <= view.finalized;
  if (state === "confirmed") {
    failpoint("finalize-before-commit");
    return isDue ? await moveIntent(services.db, intent, "finalized") : intent;
  }
  if (!isDue) return intent;
  const outcome = { hash: toHash(reservation.mined_attempt), blockHash: now, succeeded: outcomeOf(intent, state) };
  const agreement = await agreeOnOutcome(services.relay.nodes(chain), chain.relay.quorum, outcome);
  if (agreement === "unknown") return intent;
  if (agreement === "denied") {
    services.log.error({ intent: intent.id, hash: outcome.hash }, "endpoints contradict each other about a receipt");
    return await services.db.transaction().execute((transaction) => markUnmined(transaction, intent));
  }
  switch (state) {
    case "mined":
      return await confirm(services, chain, intent, { number, hash: outcome.hash }, view);
    case "mined_reverted":
      return await endReverted(services, chain, { intent, reservation }, outcome);
    case "mined_cancellation":
      return (await endAsFound(services, chain, intent)) ?? (await endCancelled(services, chain, intent));
    default:
      return state satisfies never;
  }
}

/**
 * How its transaction ended. One that does nothing does so even if it fails; and what the operator refuses in a batch is
 * refused by one that succeeds: there it decides whether enough endpoints call the intent undone.
 */
function outcomeOf({ batch_call }: Intent, state: MinedState): boolean | null {
  if (state === "mined_cancellation" || (state === "mined_reverted" && batch_call)) return null;
  return state === "mined";
}

/** @param mined block and transaction of the intent. */
async function confirm(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  { number, hash }: { number: bigint; hash: Hash },
  view: ChainView,
): Promise<Intent | null> {
  // An update's bytes were ours and succeeded; what others changed in the same block is not our affair.
  const problem = isOperation(intent.kind)
    ? await verifyOperation(services, chain, intent, hash)
    : intent.kind === "deploy"
      ? await verifyDeployment(services.relay.nodes(chain), intent, number, hash)
      : null;
  const agreed = !intent.batch_call || (await agreeOnDone(services, chain, intent));
  // One endpoint said that the lead's own call was carried out, and enough of them say that it was not.
  if (intent.batch_call && (problem !== null || !agreed) && number <= view.finalized)
    if (!(await isIntentDone(services, chain, intent)))
      return await moveIntent(services.db, intent, "nonce_conflict", batchFailed);
  if (!agreed) return intent;
  if (problem === null) {
    services.log.info({ intent: intent.id, block: number }, "confirmed");
    failpoint("confirm-before-commit");
    return await moveIntent(services.db, intent, "confirmed");
  }
  services.log.error(
    { intent: intent.id, problem },
    "what is on the chain is not what was asked for; it stays unconfirmed",
  );
  return intent.hold_reason === "verification"
    ? intent
    : await moveIntent(services.db, intent, "mined", "verification", problem);
}
