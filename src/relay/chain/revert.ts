import { type Abi, decodeErrorResult, type Hex } from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";

const errors: Abi = [...collectionFactoryAbi, ...collectionAbi, ...productOperatorAbi].filter(
  (item) => item.type === "error",
);

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
