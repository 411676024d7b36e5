import type { Hash } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import type { Intent } from "../store/intents.ts";
import type { RelayContext } from "./context.ts";
import { intentName } from "./encode-deploy.ts";

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
