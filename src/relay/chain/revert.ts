import { type Abi, decodeErrorResult, type Hex } from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import type { RpcResult } from "../../rpc/batch.ts";

const errors: Abi = [...collectionFactoryAbi, ...collectionAbi, ...productOperatorAbi].filter(
  (item) => item.type === "error",
);

type NodeError = Extract<RpcResult, { error: unknown }>["error"];

/** A refusal for people: the contract's own reason where it gives one, else the node's words, shortened. */
export function explainRevert(error: { message: string; data?: unknown }): string {
  const data = revertData(error.data);
  if (!data) return oneLine(error.message);
  try {
    const { errorName, args } = decodeErrorResult({ abi: errors, data });
    return oneLine(errorName === "Error" ? String(args?.[0]) : errorName);
  } catch {
    return `reverted with ${data.slice(0, 74)}`;
  }
}

/**
 * Whether a node's error is what the chain says of a call: a revert, or an end that has no data. Anything else is a trouble of
 * the node that passes: nothing may be refused, or given up, because of it.
 */
export function isRefusal(error: NodeError): boolean {
  return (
    isReverted(error) || /out of gas|gas required exceeds|invalid opcode|stack (under|over)flow/i.test(error.message)
  );
}

/** Whether the called contract itself reverted: code 3 is geth's word for it, others send the data or say so. */
export function isReverted({ code, message, data }: NodeError): boolean {
  return code === 3 || revertData(data) !== null || /revert/i.test(message);
}

/** Nodes put it there bare or in an object. */
function revertData(data: unknown): Hex | null {
  const text = typeof data === "object" && data !== null ? (data as { data?: unknown }).data : data;
  return typeof text === "string" && /^0x[0-9a-f]{8,}$/i.test(text) ? (text as Hex) : null;
}

function oneLine(text: string): string {
  return text
    .replaceAll(/\w+:\/\/\S+/g, "<url>")
    .replaceAll(/\s+/g, " ")
    .slice(0, 200);
}
