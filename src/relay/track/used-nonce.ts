import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { refusalInBatch } from "../chain/batch-call.ts";
import type { RelayContext } from "../chain/context.ts";
import { findNonces, type SentTransaction } from "../chain/find-nonces.ts";
import { isCallOf } from "../chain/own-content.ts";
import { costOf } from "../chain/reads.ts";
import type { ChainView } from "../chain/view.ts";
import type { Intent } from "../store/intents.ts";
import { markMined, type NonceReservation } from "../store/nonces.ts";
import { importDeployment } from "../submit/import-deployment.ts";
import { keepFoundBytes } from "../submit/take-basis.ts";
import { kindOnChain } from "./import-found.ts";
import { markNonceConflict, passNonceOn } from "./nonce-conflict.ts";

/**
 * Moves an intent whose nonce is used for good by none of the transactions that are remembered. What used it decides:
 * a transaction of the intent's own whose row was lost is its transaction; another one of ours (of a lost or another
 * request) has the nonce, and the request goes on with a new one; only what this service never signs halts the wallet.
 *
 * @returns the intent as it stands; null when another process moved it.
 */
export async function explainUsedNonce(
  services: RelayContext,
  chain: Chain,
  lost: { intent: Intent; reservation: NonceReservation },
  view: ChainView,
): Promise<Intent | null> {
  const { intent, reservation } = lost;
  const imported = intent.kind === "deploy" ? await importDeployment(services, chain, intent) : null;
  if (imported) return imported;
  const wallet = toAddress(reservation.addr);
  const from = await blockBefore(services, reservation);
  const [sent] = await findNonces(services, chain, wallet, [reservation.nonce], from ?? undefined);
  if (!sent || sent.nonce !== reservation.nonce || sent.receipt.blockNumber > view.finalized) return intent;
  const own = ownOutcome(intent, sent);
  if (own && sent.raw) {
    const bytes = { ...sent, raw: sent.raw };
    services.log.warn({ intent: intent.id, hash: sent.hash, outcome: own }, "lost bytes of an intent were mined");
    return await services.db.transaction().execute(async (db) => {
      await keepFoundBytes(db, { chain_id: reservation.chain_id, addr: reservation.addr }, bytes);
      const block = { number: sent.receipt.blockNumber, hash: sent.receipt.blockHash };
      return await markMined(db, intent, own, sent.hash, block, costOf(sent.receipt, sent.maxFeePerGas));
    });
  }
  const kind = await kindOnChain(services, chain, wallet, sent);
  if (kind === "external" || !sent.raw) return await markNonceConflict(services, chain, lost);
  return await passNonceOn(services, chain, lost, { ...sent, raw: sent.raw, kind });
}

/** What an intent comes to by a transaction that is its own; null when it is not, or is not known. */
function ownOutcome(intent: Intent, sent: SentTransaction): "mined" | "mined_reverted" | "mined_cancellation" | null {
  const succeeded = sent.receipt.status === 1n;
  const signed = intent.state !== "assigned";
  if (sent.data === "0x" && sent.value === 0n && sent.to === sent.from)
    return intent.cancel_requested_at && signed ? "mined_cancellation" : null;
  if (!isCallOf(intent, sent.to, sent.data)) return null;
  if (succeeded && refusalInBatch(sent.receipt, intent) !== null) return signed ? "mined_reverted" : null;
  // What stands there is compared before it is confirmed.
  return succeeded ? "mined" : signed ? "mined_reverted" : null;
}

/** A block that the nonce is not in front of, as far as earlier nonces tell. */
async function blockBefore(services: RelayContext, reservation: NonceReservation): Promise<bigint | null> {
  const row = await services.db
    .selectFrom("service.nonce_reservation")
    .select("mined_block")
    .where("chain_id", "=", reservation.chain_id)
    .where("addr", "=", reservation.addr)
    .where("nonce", "<", reservation.nonce)
    .where("mined_block", "is not", null)
    .orderBy("nonce", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.mined_block ?? null;
}
