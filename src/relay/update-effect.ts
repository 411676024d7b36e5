import { type Address, encodeEventTopics, type Hash } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toAddress } from "./bytes.ts";
import { calls, parseBlockOrNull, parseHex, parseLogs, type Receipt } from "./chain-reads.ts";
import type { Intent } from "./intents.ts";
import type { Node } from "./nodes.ts";

/** `unknown`: the node does not tell all of it yet. */
export type UpdateEffect = "took" | "none" | "unknown";

/**
 * Whether an update that succeeded changed anything. A call of an address without code succeeds too, and after a
 * reorganisation an update may be mined before the deployment of its collection, which another wallet sent: in an
 * earlier block, or further up in the same one.
 *
 * @param receipt of the update, in a block that is on the chain.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function effectOfUpdate(
  services: Services,
  chain: Chain,
  intent: Intent,
  receipt: Receipt,
): Promise<UpdateEffect> {
  // Most collections are final long before; and nodes forget what old blocks held.
  if (await wasFinalBefore(services, intent, receipt.blockNumber)) return "took";
  return await services.relay.nodes(chain).first((node) => askForEffect(node, intent, receipt));
}

async function wasFinalBefore(services: Services, intent: Intent, block: bigint): Promise<boolean> {
  const deployment = await services.db
    .selectFrom("service.intent as i")
    .innerJoin("service.slot as s", "s.intent_id", "i.id")
    .select("i.id")
    .where("i.chain_id", "=", intent.chain_id)
    .where("i.predicted_addr", "=", intent.predicted_addr)
    .where("i.kind", "=", "deploy")
    .where("i.state", "=", "finalized")
    .where("s.mined_block", "<", block)
    .limit(1)
    .executeTakeFirst();
  return deployment !== undefined;
}

async function askForEffect(node: Node, intent: Intent, receipt: Receipt): Promise<UpdateEffect> {
  const { blockHash, transactionIndex } = receipt;
  const collection = toAddress(intent.predicted_addr);
  const [header] = await node.ask([calls.blockOfHash(blockHash)]);
  const block = parseBlockOrNull(header);
  if (block?.hash !== blockHash) return "unknown";
  const [before, behind] = await node.ask([
    calls.code(collection, { blockHash: block.parentHash }),
    calls.code(collection, { blockHash }),
  ]);
  if (parseHex(before, "a contract's code") !== "0x") return "took";
  if (parseHex(behind, "a contract's code") === "0x") return "none";
  const created = await indexOfCreation(node, blockHash, toAddress(intent.factory), collection);
  if (created === null) return "unknown";
  return created < transactionIndex ? "took" : "none";
}

/** The place in its block of the transaction by which a factory made a collection. */
async function indexOfCreation(
  node: Node,
  blockHash: Hash,
  factory: Address,
  collection: Address,
): Promise<bigint | null> {
  const args = { collection };
  const topics = encodeEventTopics({ abi: collectionFactoryAbi, eventName: "CollectionDeployed", args });
  const [answer] = await node.ask([calls.logs(blockHash, factory, topics)]);
  const log = parseLogs(answer).find((one) => one.blockHash === blockHash && one.address === factory);
  return log?.transactionIndex ?? null;
}
