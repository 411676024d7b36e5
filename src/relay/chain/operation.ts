import { decodeFunctionData, encodeEventTopics, encodeFunctionData, type Hex, pad } from "viem";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import type { CallKind, IntentKind } from "../../db/tables/relay.ts";
import type { Intent } from "../store/intents.ts";
import type { Receipt } from "./reads.ts";

/** Requests that the operator of product contracts carries out: it deploys a contract or calls one. */
export type OperationKind = Exclude<IntentKind, "deploy" | "update">;

/** What the operator's transaction of an intent is, in the eyes of whoever signs it. */
export function callKind(kind: IntentKind): CallKind {
  return kind === "deploy" || kind === "update" ? kind : "operate";
}

export function isOperation(kind: IntentKind): kind is OperationKind {
  return callKind(kind) === "operate";
}

/**
 * Whether a request replaces a whole record of the chain. Its call is made from what the chain has right before it is
 * signed, and only where every update before is part of that.
 */
export function replacesRecord(kind: IntentKind): kind is "update" | "contract_update" {
  return kind === "update" || kind === "contract_update";
}

/**
 * The call of the operator, from what was frozen when the intent was accepted, or when it became the lead of a batch. It
 * carries the intent's name, and the operator refuses a name the second time.
 */
export function encodeOperation(
  intent: Pick<Intent, "kind" | "root_id" | "predicted_addr" | "init_data"> & Partial<Pick<Intent, "batch_call">>,
): Hex {
  if (intent.batch_call) return toHex(intent.batch_call);
  const data = toHex(intent.init_data);
  // A deployment's data is the operator's whole call: the address follows from it.
  if (intent.kind === "contract") return data;
  return encodeFunctionData({
    abi: productOperatorAbi,
    functionName: "execute",
    args: [intentName(intent.root_id), toAddress(intent.predicted_addr), data],
  });
}

/** The name of the intent that a call of the operator is for, of a batch the first's; null for any other call. */
export function nameInOperation(data: Hex): Hex | null {
  try {
    const call = decodeFunctionData({ abi: productOperatorAbi, data });
    if (call.functionName === "executeBatch") return call.args[0][0]?.intent ?? null;
    const named = ["execute", "deployERC721", "deployERC1155"].includes(call.functionName);
    return named ? (call.args?.[0] as Hex) : null;
  } catch {
    return null;
  }
}

const [executedTopic] = encodeEventTopics({ abi: productOperatorAbi, eventName: "IntentExecuted" });
const [deployedTopic] = encodeEventTopics({ abi: productOperatorAbi, eventName: "ProductDeployed" });

/** Topics of the operator's event that an intent was carried out. */
export function operationTopics(intent: Intent): readonly Hex[] {
  const named = [intentName(intent.root_id), pad(toAddress(intent.predicted_addr))];
  return intent.kind === "contract"
    ? [deployedTopic, ...named, pad(toAddress(intent.owner))]
    : [executedTopic, ...named];
}

/** True when the operator says in this receipt that it did what the intent asks for. */
export function announcesOperation(receipt: Pick<Receipt, "logs">, intent: Intent): boolean {
  const topics = operationTopics(intent);
  return receipt.logs.some(
    (log) => log.address === toAddress(intent.factory) && topics.every((topic, at) => topic === log.topics[at]),
  );
}

/** An intent's name on chain: its root's UUID, padded to 32 bytes in front. */
export function intentName(rootId: string): Hex {
  return `0x${rootId.replaceAll("-", "").padStart(64, "0")}`;
}
