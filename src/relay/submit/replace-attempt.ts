import { parseTransaction } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import { SignerError } from "../../signing/trouble.ts";
import type { RelayContext } from "../chain/context.ts";
import { bumpFees, type Fees, isRaised } from "../chain/fees.ts";
import { dataFee, dataRoom } from "../chain/market.ts";
import { callKind } from "../chain/operation.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import type { Attempt, NonceReservation } from "../store/nonces.ts";
import { refusalHolds } from "./hold-intent.ts";
import { feeCap } from "./preflight.ts";
import { raiseGasReservation } from "./raise-reservation.ts";
import { signAttempt } from "./sign-attempt.ts";

const cancellationGas = 21_000n;

/** What the replacement of a pending transaction depends on. */
export interface FeeView {
  /** The newest block. */
  head: bigint;
  fees: Fees;
  /** As of `Market`. */
  dataByteWei: bigint;
}

/**
 * Whether an intent's newest bytes have waited long enough to be replaced. Counted in blocks: a clock
 * that jumps must not raise anybody's price.
 *
 * @param nextNonce transactions of the wallet in the newest block: only the first in line can be too cheap.
 */
export function isStale(
  chain: Chain,
  reservation: NonceReservation,
  newest: Attempt | undefined,
  head: bigint,
  nextNonce: bigint,
): boolean {
  if (!newest || newest.head_block === null || newest.kind === "imported") return false;
  return reservation.nonce === nextNonce && head - newest.head_block >= BigInt(chain.relay.bumpAfterBlocks);
}

/**
 * Signs the same call, or nothing at all when the intent is cancelled, at the same nonce with higher fees.
 * At the operator's cap, or where the spending limits have no room for more, nothing is signed: the intent shows
 * `hold_reason` fee or budget, or that the signer's day is full, and what is signed is sent again.
 *
 * @param attempts newest first; empty for an intent that is cancelled before its first signature.
 * @returns the intent as it stands; null when another process moved it.
 */
export async function replaceAttempt(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  reservation: NonceReservation,
  attempts: readonly Attempt[],
  view: FeeView,
): Promise<Intent | null> {
  const [newest] = attempts;
  const empty = intent.cancel_requested_at !== null || newest?.kind === "cancellation" || !newest;
  const old = newest ? { maxFeePerGas: BigInt(newest.max_fee), maxPriorityFeePerGas: BigInt(newest.tip) } : null;
  const call = empty || !newest ? null : parseTransaction(toHex(newest.raw));
  const gas = call?.gas ?? cancellationGas;
  const within = (cap: bigint) =>
    old ? bumpFees(old, view.fees, cap) : view.fees.maxFeePerGas <= cap ? view.fees : null;
  const data = call?.data ?? "0x";
  const dataWei = dataRoom * dataFee(view, data);
  const cap = feeCap(chain, intent, { gas, dataWei });
  const wanted = within(chain.relay.maxFeeWei);
  if (wanted && wanted.maxFeePerGas > cap) {
    const raising = await raiseGasReservation(services, chain, intent, gas * wanted.maxFeePerGas + dataWei, true);
    // Another process moved it: it may have replaced these bytes already.
    if (raising && !raising.raised) return null;
    if (raising) return await replaceRaised(raising.intent);
  }
  const fees = within(cap);
  if (!fees) {
    const reason = wanted ? "budget" : "fee";
    services.log.warn({ intent: intent.id, cap, reason }, "a cap keeps a transaction waiting");
    return await show(reason);
  }
  if (old && !isRaised(old, fees) && empty === (newest?.kind === "cancellation")) return intent;
  services.log.info({ intent: intent.id, nonce: reservation.nonce, ...fees, empty }, "replacing a transaction");
  const self = toAddress(reservation.addr);
  try {
    return await signAttempt(services, chain, intent, reservation, {
      kind: empty ? "cancellation" : callKind(intent.kind),
      to: call?.to ?? self,
      data,
      gas,
      dataWei,
      fees,
      headBlock: view.head,
    });
  } catch (error) {
    if (!(error instanceof SignerError) || error.reason === null || !newest) throw error;
    // What is signed is sent again meanwhile.
    return await show(refusalHolds[error.reason]);
  }

  async function show(reason: string): Promise<Intent | null> {
    return intent.hold_reason === reason ? intent : await moveIntent(services.db, intent, intent.state, reason);
  }

  /** Null when another process moved it meanwhile. */
  async function replaceRaised(raised: Intent): Promise<Intent | null> {
    if (raised.state !== intent.state || raised.version !== intent.version + 1) return null;
    return await replaceAttempt(services, chain, raised, reservation, attempts, view);
  }
}
