import {
  type Abi,
  type Address,
  decodeErrorResult,
  decodeFunctionData,
  encodeEventTopics,
  encodeFunctionData,
  type Hex,
  type Log,
  pad,
  parseEventLogs,
} from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import type { RuntimeConfig } from "../../../contracts/abi/config.ts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import { isCallRefusal, isReverted, type NodeError, nodeWords, revertData } from "../../rpc/answers.ts";
import type { Receipt } from "../../rpc/reads.ts";
import { type Intent, isOperation, replacesRecord } from "../store/intents.ts";
import { applyChanges, changesOf, readChanges } from "../store/payloads.ts";
import { changesWithout, type UpdateBasis } from "../store/turns.ts";
import { applyContractChanges, encodeUpdateProduct, type RuntimeRecord } from "./product-record.ts";

/**
 * The operator's call, from what was frozen when the intent was accepted or became the lead of a batch. It contains the
 * intent's name, and the operator refuses a name the second time.
 */
export function encodeOperation(
  intent: Pick<Intent, "kind" | "root_id" | "predicted_addr" | "init_data"> & Partial<Pick<Intent, "batch_call">>,
): Hex {
  if (intent.batch_call) return toHex(intent.batch_call);
  const data = toHex(intent.init_data);
  // A deployment's init data is the operator's whole call, from which the address follows.
  if (intent.kind === "contract") return data;
  return encodeFunctionData({
    abi: productOperatorAbi,
    functionName: "execute",
    args: [intentName(intent.root_id), toAddress(intent.predicted_addr), data],
  });
}

/** The name of the intent that an operator's call is for, in a batch that of the lead; null for any other call. */
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

/** Topics of the operator's event for an intent that was carried out. */
export function operationTopics(intent: Intent): readonly Hex[] {
  const named = [intentName(intent.root_id), pad(toAddress(intent.predicted_addr))];
  return intent.kind === "contract"
    ? [deployedTopic, ...named, pad(toAddress(intent.owner))]
    : [executedTopic, ...named];
}

/** Whether the receipt has the operator's event that it carried the intent out. */
export function announcesOperation(receipt: Pick<Receipt, "logs">, intent: Intent): boolean {
  const topics = operationTopics(intent);
  return receipt.logs.some(
    (log) => log.address === toAddress(intent.factory) && topics.every((topic, at) => topic === log.topics[at]),
  );
}

/** An intent's name on chain: its root's UUID, left-padded to 32 bytes. */
export function intentName(rootId: string): Hex {
  return `0x${rootId.replaceAll("-", "").padStart(64, "0")}`;
}

/** The call in an intent's transaction. */
export interface IntentCall {
  to: Address;
  data: Hex;
  /** The state that `data` was built from; null when it depends on none. */
  basis: UpdateBasis | null;
}

/**
 * The call of any intent except an update of a whole record: it is frozen on acceptance.
 *
 * @throws Error for such an update.
 */
export function encodeFrozen(intent: Intent): IntentCall {
  if (replacesRecord(intent.kind))
    throw new Error(`the call of ${intent.kind} ${intent.id} is made before it is signed`);
  const data = isOperation(intent.kind) ? encodeOperation(intent) : encodeDeploy(intent);
  return { to: toAddress(intent.factory), data, basis: null };
}

/**
 * The call of an update: the whole configuration, so it is built from the chain's state right before signing.
 *
 * @param current the collection's configuration at `basis`.
 * @param superseded members that stay as they are: an update that was accepted later has changed them already, while
 *   this one had to be repeated.
 */
export function encodeUpdate(
  intent: Intent,
  current: RuntimeConfig,
  basis: UpdateBasis,
  superseded: ReadonlySet<string>,
): IntentCall {
  const wanted = Object.entries(readChanges(intent.payload)).filter(([member]) => !superseded.has(member));
  const args = [applyChanges(current, Object.fromEntries(wanted))] as const;
  const data = encodeFunctionData({ abi: collectionAbi, functionName: "updateConfig", args });
  return { to: toAddress(intent.predicted_addr), data, basis };
}

/**
 * The call of an update of a product contract, like `encodeUpdate`.
 *
 * @param current the contract's settings at `basis`.
 */
export function encodeContractUpdate(
  intent: Intent,
  current: RuntimeRecord,
  basis: UpdateBasis,
  superseded: ReadonlySet<string>,
): IntentCall {
  const changes = changesWithout(changesOf(intent), superseded);
  const update = encodeUpdateProduct(
    applyContractChanges(current, changes),
    changes.roles ?? [],
    changes.exit ?? false,
  );
  const data = encodeOperation({ ...intent, init_data: toBytes(update) });
  return { to: toAddress(intent.factory), data, basis };
}

/** Calldata of the factory call, from what was frozen when the intent was accepted. */
export function encodeDeploy(intent: Pick<Intent, "root_id" | "owner" | "init_data">): Hex {
  return encodeFunctionData({
    abi: collectionFactoryAbi,
    functionName: "deploy",
    args: [intentName(intent.root_id), toAddress(intent.owner), toHex(intent.init_data)],
  });
}

type Called = Pick<Intent, "root_id" | "predicted_addr" | "init_data">;

/**
 * The operator's call that carries out several mints, each under its own name: if one is refused, the others still
 * succeed (IProductOperator.executeBatch).
 *
 * @param intents the lead first.
 */
export function encodeBatch(intents: readonly Called[]): Hex {
  const calls = intents.map(({ root_id, predicted_addr, init_data }) => ({
    ...{ intent: intentName(root_id), target: toAddress(predicted_addr), data: toHex(init_data) },
  }));
  return encodeFunctionData({ abi: productOperatorAbi, functionName: "executeBatch", args: [calls] });
}

/** Whether an operator's call is a batch whose first call is this intent's: then the intent is the batch's lead. */
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
 * The operator's log of a call that it could not carry out; the rest of the batch may have succeeded.
 *
 * @returns the contract's reason, for people; empty where it gave none, as when a call ran out of gas; null when the
 *   receipt has no such log of this intent.
 */
export function refusalInBatch(receipt: Pick<Receipt, "logs">, intent: Intent): string | null {
  // Decoding is expensive, and each request of a batch scans the logs of all.
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

const errors: Abi = [...collectionFactoryAbi, ...collectionAbi, ...productOperatorAbi].filter(
  (item) => item.type === "error",
);

/** The reason of a refusal, for people: the contract's own if it gives one, else the node's message, shortened. */
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
 * Whether a node's error is the chain's verdict on a call: a revert, or a halt without data. Any other error is a
 * temporary problem of the node, which must not lead to a refusal or make us give up.
 */
export function isRefusal(error: NodeError): boolean {
  return isReverted(error) || isCallRefusal(error.message);
}
