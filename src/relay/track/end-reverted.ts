import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/batch.ts";
import { refusalInBatch } from "../chain/batch-call.ts";
import type { RelayContext } from "../chain/context.ts";
import { isIntentDone } from "../chain/intent-done.ts";
import { lackedRole } from "../chain/lacked-role.ts";
import { isOperation } from "../chain/operation.ts";
import { effectOfUpdate, type UpdateEffect } from "../chain/update-effect.ts";
import { readReceipts } from "../chain/view.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import type { NonceReservation } from "../store/nonces.ts";
import { endAsFound } from "../submit/end-as-found.ts";

/** Retries of a request that ran out of gas, beyond the first one. */
const mostRepetitions = 2;

/** Why the lead of a batch goes on alone: the whole transaction failed, or its own call had too little gas in it. */
export const batchFailed = "batch_failed";

/** What another transaction has done is not cancelled: it ends as that, once that is final for enough endpoints. */
export async function endCancelled(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  return (await isIntentDone(services, chain, intent)) ? intent : await moveIntent(services.db, intent, "cancelled");
}

/**
 * What ran out of gas did so because a node estimated too little: the request goes on as a retry, with another
 * estimate, a few times. So does a deployment whose wallet had lost its role when it was mined: another wallet sends
 * it, or this one once it has the role again; a call of the operator that came before its contract; and the lead of a batch
 * that failed, by the fault of any of its mints. Everything else that the chain refused it refused for good.
 */
export async function endReverted(
  services: RelayContext,
  chain: Chain,
  { intent, reservation }: { intent: Intent; reservation: NonceReservation },
  { hash, blockHash }: { hash: Hash; blockHash: Hash },
): Promise<Intent | null> {
  // A duplicate of a transaction whose rows were lost: the factory refuses a second collection of one intent.
  const found = await endAsFound(services, chain, intent);
  if (found) return found;
  if (await isIntentDone(services, chain, intent)) return intent;
  const refusal = intent.batch_call ? await readRefusal(services, chain, intent, hash) : null;
  const mayRepeat = intent.retry_number < mostRepetitions && intent.cancel_requested_at === null;
  const asked = toAddress(intent.factory);
  const ofRole = intent.kind !== "update";
  if (
    mayRepeat &&
    ofRole &&
    refusal === null &&
    (await lackedRole(services, chain, asked, toAddress(reservation.addr), blockHash))
  ) {
    services.log.warn({ intent: intent.id, hash }, "the wallet had lost its role; the request is repeated");
    return await moveIntent(services.db, intent, "nonce_conflict", "role");
  }
  if (mayRepeat && intent.batch_call && !refusal) {
    services.log.warn({ intent: intent.id, hash }, "a batch failed, for no reason of its lead's own; it goes on alone");
    return await moveIntent(services.db, intent, "nonce_conflict", batchFailed);
  }
  if (mayRepeat && isOperation(intent.kind) && intent.kind !== "contract") {
    const effect = await effectOfRefused(services, chain, intent, hash);
    if (effect === "unknown") return intent;
    if (effect === "none") {
      services.log.warn({ intent: intent.id, hash }, "a request was mined before its contract stood; it is repeated");
      return await moveIntent(services.db, intent, "nonce_conflict", "no_effect");
    }
  }
  if (refusal !== null) return await moveIntent(services.db, intent, "failed_onchain", "refused", refusal || null);
  if (!mayRepeat || !(await ranOutOfGas(services, chain, hash)))
    return await moveIntent(services.db, intent, "failed_onchain");
  services.log.warn({ intent: intent.id, hash }, "a transaction ran out of gas; it is repeated with a new estimate");
  return await moveIntent(services.db, intent, "nonce_conflict", "out_of_gas");
}

/** Of the lead of a batch whose transaction succeeded: why its own call was refused. */
async function readRefusal(services: RelayContext, chain: Chain, intent: Intent, hash: Hash): Promise<string | null> {
  const receipt = (await readReceipts(services.relay.nodes(chain), [hash])).get(hash);
  if (!receipt) throw new NodeFault("no endpoint has the receipt of a mined transaction any more");
  return refusalInBatch(receipt, intent);
}

/** After a reorganisation, a request may be mined before the deployment of its contract, which another wallet sent. */
async function effectOfRefused(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  hash: Hash,
): Promise<UpdateEffect> {
  const receipt = (await readReceipts(services.relay.nodes(chain), [hash])).get(hash);
  return receipt ? await effectOfUpdate(services, chain, intent, receipt) : "unknown";
}

/**
 * Its limit is a fifth above the estimate, so what a true estimate was made for ends well below nine tenths of the
 * limit; calls inside calls leave a few 64ths unused when they run out (EIP-150).
 */
async function ranOutOfGas(services: RelayContext, chain: Chain, hash: Hash): Promise<boolean> {
  const { gas } = await services.db
    .selectFrom("service.attempt")
    .select("gas")
    .where("hash", "=", toBytes(hash))
    .executeTakeFirstOrThrow();
  const receipt = (await readReceipts(services.relay.nodes(chain), [hash])).get(hash);
  if (!receipt) throw new NodeFault("no endpoint has the receipt of a reverted transaction any more");
  return receipt.gasUsed * 10n >= gas * 9n;
}
