import type { Address, Hex, PublicClient } from "viem";
import { toAddress } from "./bytes.ts";
import { encodeUpdate, readChanges } from "./config-changes.ts";
import { encodeDeploy } from "./encode-deploy.ts";
import type { Intent } from "./intents.ts";

/** What an intent's transaction calls. */
export interface IntentCall {
  to: Address;
  data: Hex;
  /** The block whose state went into `data`; null when it depends on none. */
  readAt: bigint | null;
}

/**
 * The call an intent stands for, as of a block. A deployment's is frozen since it was accepted; an
 * update's holds the whole configuration, so it is made from what the chain has right before signing.
 */
export async function encodeCall(client: PublicClient, intent: Intent, blockNumber: bigint): Promise<IntentCall> {
  switch (intent.kind) {
    case "deploy":
      return { to: toAddress(intent.factory), data: encodeDeploy(intent), readAt: null };
    case "update": {
      const to = toAddress(intent.predicted_addr);
      return {
        to,
        data: await encodeUpdate(client, to, readChanges(intent.payload), blockNumber),
        readAt: blockNumber,
      };
    }
  }
}
