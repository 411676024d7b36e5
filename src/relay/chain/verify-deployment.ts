import {
  type Address,
  type ContractFunctionReturnType,
  type Hash,
  type Log,
  type PublicClient,
  parseEventLogs,
} from "viem";
import { cloneCode } from "../../../contracts/abi/clone-code.ts";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { encodeInitData, predictCollection } from "../../../contracts/abi/config.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import type { Intent } from "../store/intents.ts";
import { intentName } from "./encode-deploy.ts";
import type { Receipt } from "./reads.ts";

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
 */
export async function verifyDeployment(
  client: PublicClient,
  intent: Intent,
  blockNumber: bigint,
  transaction: Hash,
): Promise<string | null> {
  const address = toAddress(intent.predicted_addr);
  const code = await client.getCode({ address, blockNumber });
  if (!code) return "no code at the predicted address";
  const expected = cloneCode(toAddress(intent.template), toHex(intent.init_data)).toLowerCase();
  if (!code.toLowerCase().startsWith(expected.slice(0, cloneHeadChars))) return "not a clone of the template";
  // Only what exactly this code says of itself is worth anything.
  if (code.toLowerCase() !== expected) return "the configuration in its code is not the one of the request";
  const call = { address, abi: collectionAbi, blockNumber } as const;
  const [owner, info] = await Promise.all([
    client.readContract({ ...call, functionName: "owner" }),
    client.readContract({ ...call, functionName: "getInfo" }),
  ]);
  const problem = findDifference(intent, owner, info);
  if (problem === null || !followsFromRequest(intent)) return problem;
  return (await isLastOfBlock(client, blockNumber, transaction)) ? problem : null;
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
export async function isLastOfBlock(client: PublicClient, blockNumber: bigint, transaction: Hash): Promise<boolean> {
  const { transactions } = await client.getBlock({ blockNumber });
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
