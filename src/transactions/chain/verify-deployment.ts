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
import type { Chain } from "../../chains.ts";
import { toAddress, toHash, toHex } from "../../db/bytes.ts";
import { LaggingNode, NodeFault, type RpcResult } from "../../rpc/endpoint.ts";
import type { Nodes } from "../../rpc/nodes.ts";
import { calls, parseHex, parseTransactions, type Receipt } from "../../rpc/reads.ts";
import { endedStates } from "../lifecycle.ts";
import type { Intent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import { intentName, isRefusal } from "./request-call.ts";
import { readBlockHashes, readReceipts } from "./view.ts";

/** "0x" and the 45 bytes of ERC-1167; the packed arguments follow. */
const cloneHeadChars = 2 + 2 * 45;

type CollectionInfo = ContractFunctionReturnType<typeof collectionAbi, "view", "getInfo">;

/**
 * Compares the contract at an intent's address, as of one block, with the request.
 *
 * The block's state also includes changes by later transactions: a reorganisation can put the deployment and its first
 * update into one block. So if there are later ones, a difference is attributed to them, provided that the address
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
  // Only answers of exactly this code can be trusted.
  if (code.toLowerCase() !== expected) return "the configuration in its code is not the one of the request";
  // The code at the address is right, so this answer comes from a node without the block's state.
  if (!owner || !info) throw new LaggingNode(`a node answers for ${address} without its state at block ${blockNumber}`);
  const problem = findDifference(intent, owner, info);
  if (problem === null || !followsFromRequest(intent)) return problem;
  return (await isLastOfBlock(nodes, blockNumber, transaction)) ? problem : null;
}

/**
 * The contract at an address as of a block. The factory reported that it created the contract, so an endpoint without
 * its code lacks the block or its state, and the next one is asked.
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

/** @returns null for an answer of another kind of contract. */
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
  // A collection does not report the flag; one of the two encodings has to be the request's.
  const asked = toHex(intent.init_data);
  const same = [true, false].some(
    (grant) => encodeInitData(info.deploymentConfig, info.runtimeConfig, grant) === asked,
  );
  return same ? null : "its configuration is not the one of the request";
}

/** Also true when the block does not contain the transaction: then nothing comes after it. */
export async function isLastOfBlock(nodes: Nodes, blockNumber: bigint, transaction: Hash): Promise<boolean> {
  const transactions = await nodes.first(async (node) =>
    parseTransactions((await node.ask([calls.block(blockNumber)]))[0]),
  );
  const at = transactions.indexOf(transaction);
  return at < 0 || at === transactions.length - 1;
}

/** Whether the receipt has the factory's event that it created the intent's collection. */
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

/** `unknown`: the block of the deployment is not known at the moment. */
type UpdateEffect = "took" | "none" | "unknown";

/**
 * Whether a successful update changed anything, or whether a refused operator call had a contract to act on. A call to
 * an address without code succeeds too, and after a reorganisation an update may be mined before the deployment of its
 * collection, which another wallet sent: in an earlier block, or earlier in the same one. Decided by the positions of
 * the two transactions, since nodes soon forget the state of a block.
 *
 * @param receipt of the update, in a canonical block.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function effectOfUpdate(
  services: RelayContext,
  chain: Chain,
  update: Intent,
  receipt: Receipt,
): Promise<UpdateEffect> {
  const deployment = await findDeployment(services, update);
  // The deployment has ended and will not be mined again; a contract that no request deployed was there before.
  if (!deployment || isOver(deployment.state)) return update.kind === "update" ? "none" : "took";
  const nodes = services.relay.nodes(chain);
  if (deployment.found_tx) {
    const { found_block: stood } = deployment;
    if (stood !== null && stood !== receipt.blockNumber) return stood < receipt.blockNumber ? "took" : "none";
    // Deployed by a transaction other than its own, which was final when that was recorded.
    const made = (await readReceipts(nodes, [toHash(deployment.found_tx)])).get(toHash(deployment.found_tx));
    return made ? compare(made, receipt) : "unknown";
  }
  const { state, mined_block: block, mined_block_hash: hash, mined_attempt: transaction } = deployment;
  if (block === null || !hash || !transaction || !minedStates.includes(state)) return "unknown";
  // Its block may be gone without anybody having recorded that yet.
  if (state !== "finalized" && (await readBlockHashes(nodes, [block], 1)).get(block) !== toHash(hash)) return "unknown";
  if (block !== receipt.blockNumber) return block < receipt.blockNumber ? "took" : "none";
  const own = (await readReceipts(nodes, [toHash(transaction)])).get(toHash(transaction));
  return own?.blockHash === receipt.blockHash ? compare(own, receipt) : "unknown";
}

function compare(deployment: Receipt, update: Receipt): UpdateEffect {
  const blocks = update.blockNumber - deployment.blockNumber;
  return (blocks || update.transactionIndex - deployment.transactionIndex) > 0n ? "took" : "none";
}

const minedStates: readonly Intent["state"][] = ["mined", "confirmed", "finalized"];

function isOver(state: Intent["state"]): boolean {
  return state !== "finalized" && (endedStates as readonly string[]).includes(state);
}

async function findDeployment(services: RelayContext, update: Intent) {
  return await services.db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .select(["i.state", "s.mined_block", "s.mined_block_hash", "s.mined_attempt", "i.found_tx", "i.found_block"])
    .where("i.chain_id", "=", update.chain_id)
    .where("i.predicted_addr", "=", update.predicted_addr)
    .where("i.kind", "=", update.kind === "update" ? "deploy" : "contract")
    .orderBy("i.retry_number", "desc")
    .limit(1)
    .executeTakeFirst();
}
