import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { callKind } from "../chain/operation.ts";
import type { Intent } from "../store/intents.ts";
import { holdIntent } from "./hold-intent.ts";
import type { Preflight } from "./preflight.ts";
import { raiseGasReservation } from "./raise-reservation.ts";
import type { AttemptPlan } from "./sign-attempt.ts";
import type { Step } from "./submission.ts";

/** What an intent's reservation pays for: the transaction to sign, and what the node said that it needs. */
export interface Payable {
  plan: AttemptPlan;
  ready: Preflight & { fees: NonNullable<Preflight["fees"]> };
}

/**
 * The transaction of a simulated call, within what is reserved for its intent.
 *
 * @param hasNonce whether others wait behind it: then only the chain's limits must have room for a raised reservation.
 * @returns the step to take instead where the reservation pays too little: it was raised, or the intent is held.
 */
export async function payablePlan(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  ready: Preflight,
  hasNonce: boolean,
): Promise<Payable | { step: Step }> {
  const { fees, wanted, call, gas, dataWei, headBlock } = ready;
  if (fees) {
    const plan = { kind: callKind(intent.kind), to: call.to, data: call.data, gas, dataWei, fees, headBlock };
    return { plan, ready: { ...ready, fees } };
  }
  const hold = async (code: string, reason: string) => ({
    step: await holdIntent(services, chain, intent, code, reason),
  });
  if (!wanted) return await hold("fee", "the network's fees are over what may be paid here");
  const raised = await raiseGasReservation(services, chain, intent, gas * wanted.maxFeePerGas + dataWei, hasNonce);
  return raised
    ? { step: raised.intent }
    : await hold("budget", "the spending limits have no room for it at today's fees");
}
