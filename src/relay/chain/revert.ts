import { type Abi, decodeErrorResult } from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { isCallRefusal, isReverted, type NodeError, nodeWords, revertData } from "../../rpc/answers.ts";

const errors: Abi = [...collectionFactoryAbi, ...collectionAbi, ...productOperatorAbi].filter(
  (item) => item.type === "error",
);

/** A refusal for people: the contract's own reason where it gives one, else the node's words, shortened. */
export function explainRevert(error: { message: string; data?: unknown }): string {
  const data = revertData(error.data);
  if (!data) return nodeWords(error.message);
  try {
    const { errorName, args } = decodeErrorResult({ abi: errors, data });
    return nodeWords(errorName === "Error" ? String(args?.[0]) : errorName);
  } catch {
    return `reverted with ${data.slice(0, 74)}`;
  }
}

/**
 * Whether a node's error is what the chain says of a call: a revert, or an end that has no data. Anything else is a trouble of
 * the node that passes: nothing may be refused, or given up, because of it.
 */
export function isRefusal(error: NodeError): boolean {
  return isReverted(error) || isCallRefusal(error.message);
}
