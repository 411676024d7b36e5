import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { callersPolicy } from "../../signing/in-process.ts";
import { checkOrder, SigningRefused } from "../../signing/rules.ts";
import type { SigningOrder } from "../../signing/signer.ts";
import { callKind, isOperation } from "../chain/operation.ts";
import type { Intent } from "../store/intents.ts";

/**
 * What may be signed for an intent: what the rules of signing allow (src/signing/rules.ts, which whoever holds the
 * keys keeps too), and of that only a call of the intent's own factory, operator or collection, or a transfer of nothing to
 * oneself.
 *
 * @throws Error naming the rule that it breaks.
 */
export function checkProposal(chain: Chain, intent: Intent, sender: Address, order: SigningOrder): void {
  const deny = (why: string) => {
    throw new Error(`signing refused for intent ${intent.id}: ${why}`);
  };
  if (intent.chain_id !== chain.id) deny("another chain");
  try {
    checkOrder(callersPolicy(chain), sender, order);
  } catch (error) {
    if (error instanceof SigningRefused) deny(error.message);
    throw error;
  }
  if (order.kind === "cancellation") return;
  if (order.kind !== callKind(intent.kind)) deny(`${order.kind} for ${intent.kind}`);
  const to = order.transaction.to.toLowerCase();
  if (intent.kind === "deploy" && to !== toAddress(intent.factory)) deny("not the intent's factory");
  if (isOperation(intent.kind) && to !== toAddress(intent.factory)) deny("not the intent's operator");
  if (intent.kind === "update" && to !== toAddress(intent.predicted_addr)) deny("not the intent's collection");
}
