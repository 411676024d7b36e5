import { type Address, createPublicClient, http } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { ReadyInfo } from "../../src/embedded/ready-info.ts";

/** The collections that the factory deployed from a block on, by its own events, in lower case. */
export async function deployedCollections({ rpcUrl, factory }: ReadyInfo, fromBlock = 0n): Promise<string[]> {
  const chain = createPublicClient({ transport: http(rpcUrl ?? "") });
  const logs = await chain.getContractEvents({
    address: factory as Address,
    abi: collectionFactoryAbi,
    eventName: "CollectionDeployed",
    fromBlock,
  });
  return logs.map(({ args }) => String(args.collection).toLowerCase());
}
