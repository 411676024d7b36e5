import { decodeFunctionData, encodeFunctionData, type Hex, type Log, parseEventLogs } from "viem";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import type { Intent } from "../store/intents.ts";
import { intentName } from "./operation.ts";
import type { Receipt } from "./reads.ts";
import { explainRevert } from "./revert.ts";

type Called = Pick<Intent, "root_id" | "predicted_addr" | "init_data">;

/**
 * The operator's call that carries several mints out, each under its own name: what one of them is refused takes no other
 * down (IProductOperator.executeBatch).
 *
 * @param intents the lead first.
 */
export function encodeBatch(intents: readonly Called[]): Hex {
  const calls = intents.map(({ root_id, predicted_addr, init_data }) => ({
    ...{ intent: intentName(root_id), target: toAddress(predicted_addr), data: toHex(init_data) },
  }));
  return encodeFunctionData({ abi: productOperatorAbi, functionName: "executeBatch", args: [calls] });
}

/** Whether a call of the operator is a batch whose first call is the one of this intent: then it is the batch's lead. */
export function leadsBatch(intent: Called, data: Hex): boolean {
  try {
    const { functionName, args } = decodeFunctionData({ abi: productOperatorAbi, data });
    if (functionName !== "executeBatch") return false;
    const [first] = args[0];
    return (
      first?.intent === intentName(intent.root_id) &&
      first.target.toLowerCase() === toAddress(intent.predicted_addr) &&
      first.data === toHex(intent.init_data)
    );
  } catch {
    return false;
  }
}

/**
 * What the operator logs of a call that it could not carry out, where the rest of its batch may have been.
 *
 * @returns the contract's reason, for people; empty where it gave none, as a call does that ran out of gas; null when the
 *   receipt has no such log of this intent.
 */
export function refusalInBatch(receipt: Pick<Receipt, "logs">, intent: Intent): string | null {
  // Decoding is dear, and each request of a batch looks through the logs of all.
  const named = receipt.logs.filter(
    ({ address, topics }) => address === toAddress(intent.factory) && topics[1] === intentName(intent.root_id),
  );
  const [own] = parseEventLogs({
    ...{ abi: productOperatorAbi, eventName: "IntentFailed" },
    logs: named as unknown as Log[],
  });
  if (!own) return null;
  return own.args.reason === "0x" ? "" : explainRevert({ message: "", data: own.args.reason });
}
