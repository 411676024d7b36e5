import { encodeFunctionData, type Hex } from "viem";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import { toAddress, toHex } from "../../db/bytes.ts";
import type { Intent } from "../store/intents.ts";

/** An intent's name on chain: its root's UUID, padded to 32 bytes in front. */
export function intentName(rootId: string): Hex {
  return `0x${rootId.replaceAll("-", "").padStart(64, "0")}`;
}

/** Calldata of the factory call, from what was frozen when the intent was accepted. */
export function encodeDeploy(intent: Pick<Intent, "root_id" | "owner" | "init_data">): Hex {
  return encodeFunctionData({
    abi: collectionFactoryAbi,
    functionName: "deploy",
    args: [intentName(intent.root_id), toAddress(intent.owner), toHex(intent.init_data)],
  });
}
