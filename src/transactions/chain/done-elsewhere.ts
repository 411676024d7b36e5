import { encodeFunctionData, type Hash, type Hex } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { type Chain, operatorsOf } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/endpoint.ts";
import { agreeOnBytes, agreeOnOutcome, askNode } from "../../rpc/nodes.ts";
import { calls, parseHex, parsePlacedLogs } from "../../rpc/reads.ts";
import { getIntent, type Intent, isOperation, moveIntent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import { type EasyToken, importEasyToken, readEasyToken, withEasyToken } from "./easy-token.ts";
import { intentName, operationTopics } from "./request-call.ts";
import { verifyDeployment } from "./verify-deployment.ts";
import { verifyOperation } from "./verify-operation.ts";
import { readChainView } from "./view.ts";

/** Transaction and block of the event that shows an intent's effect. */
interface DeploymentLog {
  hash: Hash;
  block: bigint;
  blockHash: Hash;
}

/**
 * The factory's event of an intent's collection, in whatever transaction.
 *
 * @returns null while nothing stands at the intent's address. One endpoint's answer: the caller has it confirmed.
 */
export async function findDeploymentLog(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
): Promise<DeploymentLog | null> {
  const client = services.rpc(chain);
  const collection = toAddress(intent.predicted_addr);
  if (!(await client.getCode({ address: collection }))) return null;
  const logs = await client.getContractEvents({
    address: toAddress(intent.factory),
    abi: collectionFactoryAbi,
    eventName: "CollectionDeployed",
    args: { intentId: intentName(intent.root_id) },
    fromBlock: chain.factory?.block ?? 0n,
    strict: true,
  });
  const log = logs.find((item) => item.args.collection.toLowerCase() === collection);
  return log ? { hash: log.transactionHash, block: log.blockNumber, blockHash: log.blockHash } : null;
}

/**
 * The operator's event that an intent was carried out, in whatever transaction.
 *
 * @returns null while there is none. This is the answer of one endpoint, which the caller has to have confirmed.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
async function findOperationLog(services: RelayContext, chain: Chain, intent: Intent): Promise<DeploymentLog | null> {
  const topics = operationTopics(intent);
  const address = toAddress(intent.factory);
  const place = { address, block: operatorsOf(chain).find((operator) => operator.address === address)?.block ?? 0n };
  return await services.relay.nodes(chain).first(async (node) => {
    const [answer] = await node.ask([calls.logs(place, topics)]);
    const [log, ...more] = parsePlacedLogs(answer, topics);
    if (more.length > 0) throw new NodeFault("an intent was carried out twice, as a node says");
    return log ?? null;
  });
}

/**
 * Whether the operator has carried a request out, in whatever transaction, at the newest block of any endpoint: then
 * the request must not end as undone. False for requests that the operator does not carry out.
 *
 * @throws NodeFault when no endpoint reports it as done and fewer than the quorum answer.
 */
export async function isIntentDone(services: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  if (!isOperation(intent.kind)) return false;
  const nodes = services.relay.nodes(chain);
  const call = doneCall(intent);
  const words = await nodes.answers(async (node) => {
    const word = parseHex((await node.ask([call]))[0], "whether an intent is done");
    return word !== "0x" && BigInt(word) === 1n;
  });
  if (words.includes(true)) return true;
  if (words.length < nodes.needed(chain.relay.quorum))
    throw new NodeFault(`too few endpoints of ${chain.name} tell whether a request is done`);
  return false;
}

/** Whether enough endpoints report it as carried out: the success of a batch's transaction does not show that. */
export async function agreeOnDone(services: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  const done: Hex = `0x${"1".padStart(64, "0")}`;
  return await agreeOnBytes(services.relay.nodes(chain), chain.relay.quorum, doneCall(intent), done);
}

/**
 * The same on top of a node's mempool. A node may simulate there, and refuse a request whose transaction waits in it.
 * The operator contract is asked instead of reading the text of the refusal, which any called contract can choose.
 */
export async function isIntentPending(services: RelayContext, chain: Chain, intent: Intent): Promise<boolean> {
  if (!isOperation(intent.kind)) return false;
  return await services.relay.nodes(chain).first(async (node) => {
    const [pending, latest] = await node.ask([doneCall(intent, "pending"), doneCall(intent)]);
    return BigInt(parseHex(pending && "result" in pending ? pending : latest, "whether an intent is done")) === 1n;
  });
}

function doneCall(intent: Intent, at: "latest" | "pending" = "latest") {
  const args = [intentName(intent.root_id)] as const;
  const data = encodeFunctionData({ abi: productOperatorAbi, functionName: "isIntentDone", args });
  return calls.call(toAddress(intent.factory), data, at);
}

/** The final effect that a transaction other than its own had for a request. */
export interface Elsewhere {
  hash: Hash;
  block: bigint;
  /** The token of an easy mint, if it differs from the one in its row. */
  token: EasyToken | null;
  /** How the chain differs from the request; null: it does not. */
  fault: string | null;
}

/**
 * Looks for another transaction that has fulfilled a request for good: one whose row was lost, an earlier duplicate, or
 * one of another holder of the role. For requests that the operator carries out, the event with the intent's name
 * decides: nobody else can make the operator emit it. For deployments, the factory puts exactly the request's
 * configuration at its address, for every caller.
 *
 * @returns null while there is none, or none that is final.
 * @throws ServiceError `service_unavailable` while too few endpoints answer.
 */
export async function findElsewhere(services: RelayContext, chain: Chain, intent: Intent): Promise<Elsewhere | null> {
  if (intent.kind === "update") return null;
  const found = await askNode(chain, () =>
    isOperation(intent.kind) ? findOperationLog(services, chain, intent) : findDeploymentLog(services, chain, intent),
  );
  if (!found) return null;
  const nodes = services.relay.nodes(chain);
  const { finalized } = await askNode(chain, () => readChainView(nodes, chain, []));
  if (found.block > finalized) return null;
  const outcome = { hash: found.hash, blockHash: found.blockHash, succeeded: true };
  if ((await agreeOnOutcome(nodes, chain.relay.quorum, outcome)) !== "agreed") return null;
  // If several requests share a transaction, its success is not that of each request.
  if (isOperation(intent.kind) && !(await agreeOnDone(services, chain, intent))) return null;
  const token = await readEasyToken(services, chain, intent, found.hash);
  const asked = token ? { ...intent, ...withEasyToken(intent, token) } : intent;
  const fault = await askNode(chain, () =>
    isOperation(asked.kind)
      ? verifyOperation(services, chain, asked, found.hash)
      : verifyDeployment(nodes, asked, found.block, found.hash),
  );
  return { hash: found.hash, block: found.block, token, fault };
}

/**
 * Ends a request with what another transaction did: as failed if the result differs from the request, because nothing
 * can ever replace that.
 *
 * @param intent in any state that may be confirmed, or `held`.
 * @returns null when another process moved it.
 */
export async function endElsewhere(
  services: RelayContext,
  intent: Intent,
  { hash, block, token, fault }: Elsewhere,
): Promise<Intent | null> {
  const context = { intent: intent.id, state: intent.state, hash };
  if (fault) services.log.error({ ...context, fault }, "something else than what was asked for stands for good");
  else services.log.warn(context, "a request ends as what another transaction did");
  return await services.db.transaction().execute(async (db) => {
    const imported = token ? await importEasyToken(db, intent, token) : intent;
    const queued = imported?.state === "held" ? await moveIntent(db, imported, "queued") : imported;
    if (!queued) return null;
    if (fault) return await moveIntent(db, queued, "failed_onchain", "verification", fault);
    const place = { found_tx: toBytes(hash), found_block: block };
    const confirmed = await moveIntent(db, queued, "confirmed", null, null, place);
    // The other transaction's block is final too, so nothing is left to follow.
    return confirmed && (await moveIntent(db, confirmed, "finalized"));
  });
}

/** `findElsewhere` and `endElsewhere`. @returns the intent's row; null while no other transaction has fulfilled it. */
export async function endIfDoneElsewhere(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const elsewhere = await findElsewhere(services, chain, intent);
  if (!elsewhere) return null;
  return (await endElsewhere(services, intent, elsewhere)) ?? (await getIntent(services.db, intent.id));
}
