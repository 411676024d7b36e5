import {
  type Address,
  type ContractFunctionReturnType,
  type DecodeFunctionResultParameters,
  decodeFunctionResult,
  encodeFunctionData,
  type Hash,
  type Hex,
  type Log,
  parseEventLogs,
} from "viem";
import { cloneCode } from "../../../contracts/abi/clone-code.ts";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { encodeInitData, predictCollection } from "../../../contracts/abi/config.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import { LaggingNode, NodeFault, type RpcResult } from "../../rpc/batch.ts";
import type { Intent } from "../store/intents.ts";
import { intentName } from "./operation.ts";
import { calls, parseHex, parseTransactions, type Receipt } from "./reads.ts";
import { isRefusal } from "./revert.ts";
import type { Nodes } from "./rpc-nodes.ts";

/** "0x" and the 45 bytes of ERC-1167; the packed arguments follow. */
const cloneHeadChars = 2 + 2 * 45;

type CollectionInfo = ContractFunctionReturnType<typeof collectionAbi, "view", "getInfo">;

/**
 * Compares what stands at an intent's address, as of one block, with what was asked for.
 *
 * The block's state also has what transactions behind the deployment changed: a reorganisation can put it and its
 * first update into one block. So where there are any, a difference is believed to be theirs, if the address itself
 * follows from this owner and configuration (CREATE2, EIP-1014): then nothing else was deployed there.
 *
 * @param transaction that deployed it.
 * @returns what is wrong; null when code, owner and the whole configuration are right.
 * @throws NodeFault while no endpoint has code there.
 */
export async function verifyDeployment(
  nodes: Nodes,
  intent: Intent,
  blockNumber: bigint,
  transaction: Hash,
): Promise<string | null> {
  const address = toAddress(intent.predicted_addr);
  const { code, owner, info } = await readDeployed(nodes, address, blockNumber);
  const expected = cloneCode(toAddress(intent.template), toHex(intent.init_data)).toLowerCase();
  if (!code.toLowerCase().startsWith(expected.slice(0, cloneHeadChars))) return "not a clone of the template";
  // Only what exactly this code says of itself is worth anything.
  if (code.toLowerCase() !== expected) return "the configuration in its code is not the one of the request";
  // Its very code answers, so this came from where the block's state is not.
  if (!owner || !info) throw new LaggingNode(`a node answers for ${address} without its state at block ${blockNumber}`);
  const problem = findDifference(intent, owner, info);
  if (problem === null || !followsFromRequest(intent)) return problem;
  return (await isLastOfBlock(nodes, blockNumber, transaction)) ? problem : null;
}

/**
 * What stands at an address at a block. The factory said that it made something there, so an endpoint without code of it has not
 * the block or not its state, and the next one is asked.
 */
async function readDeployed(nodes: Nodes, address: Address, blockNumber: bigint) {
  const [ownerCall, infoCall] = (["owner", "getInfo"] as const).map((functionName) =>
    calls.call(address, encodeFunctionData({ abi: collectionAbi, functionName }), blockNumber),
  );
  if (!ownerCall || !infoCall) throw new Error("two calls were wanted");
  return await nodes.first(async (node) => {
    const answers = await node.ask([calls.code(address, blockNumber), ownerCall, infoCall]);
    const code = parseHex(answers[0], "a code");
    if (code === "0x") throw new LaggingNode(`${node.name} has no code of ${address} at block ${blockNumber}`);
    const owner = decode("owner", answers[1]);
    return { code, owner, info: decode("getInfo", answers[2]) };
  });
}

/** @returns null for what a contract of another kind says. */
function decode<Name extends "owner" | "getInfo">(
  functionName: Name,
  answer: RpcResult | undefined,
): ContractFunctionReturnType<typeof collectionAbi, "view", Name> | null {
  if (!answer || ("error" in answer && !isRefusal(answer.error)))
    throw new NodeFault(`an error instead of ${functionName}`);
  if ("error" in answer) return null;
  const asked: DecodeFunctionResultParameters = { abi: collectionAbi, functionName, data: answer.result as Hex };
  try {
    return decodeFunctionResult(asked) as never;
  } catch {
    return null;
  }
}

function followsFromRequest(intent: Intent): boolean {
  const address = predictCollection({
    factory: toAddress(intent.factory),
    template: toAddress(intent.template),
    intentId: intentName(intent.root_id),
    owner: toAddress(intent.owner),
    initData: toHex(intent.init_data),
  });
  return address === toAddress(intent.predicted_addr);
}

function findDifference(intent: Intent, owner: Address, info: CollectionInfo): string | null {
  if (owner.toLowerCase() !== toAddress(intent.owner)) return `its owner is ${owner}`;
  // The flag is not part of what a collection tells; one of both encodings is the request's.
  const asked = toHex(intent.init_data);
  const same = [true, false].some(
    (grant) => encodeInitData(info.deploymentConfig, info.runtimeConfig, grant) === asked,
  );
  return same ? null : "its configuration is not the one of the request";
}

/** Also when the block does not have it: then nothing is behind it. */
export async function isLastOfBlock(nodes: Nodes, blockNumber: bigint, transaction: Hash): Promise<boolean> {
  const transactions = await nodes.first(async (node) =>
    parseTransactions((await node.ask([calls.block(blockNumber)]))[0]),
  );
  const at = transactions.indexOf(transaction);
  return at < 0 || at === transactions.length - 1;
}

/** True when the factory says in this receipt that it created the intent's collection. */
export function announcesCollection(receipt: Pick<Receipt, "logs">, intent: Intent): boolean {
  const logs = parseEventLogs({
    abi: collectionFactoryAbi,
    eventName: "CollectionDeployed",
    logs: receipt.logs.filter((log) => log.address === toAddress(intent.factory)) as unknown as Log[],
  });
  return logs.some(
    ({ args }) =>
      args.intentId === intentName(intent.root_id) &&
      args.collection.toLowerCase() === toAddress(intent.predicted_addr) &&
      args.owner.toLowerCase() === toAddress(intent.owner),
  );
}
