import type { Hash } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { type Chain, operatorsOf } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { NodeFault } from "../../rpc/batch.ts";
import type { Intent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import { intentName, operationTopics } from "./operation.ts";
import { calls, parsePlacedLogs } from "./reads.ts";

/** Where the factory says that it made an intent's collection. */
export interface DeploymentLog {
  hash: Hash;
  block: bigint;
  blockHash: Hash;
}

/**
 * The factory's event of an intent's collection, by whatever transaction it stands.
 *
 * @returns null while nothing stands at the intent's address; one endpoint's word, which its caller has to have confirmed.
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
 * The operator's event that an intent was carried out, by whatever transaction.
 *
 * @returns null while there is none; one endpoint's word, which its caller has to have confirmed.
 * @throws NodeFault when no endpoint gives a usable answer.
 */
export async function findOperationLog(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
): Promise<DeploymentLog | null> {
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
