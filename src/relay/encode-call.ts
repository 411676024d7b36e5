import { type Address, encodeFunctionData, type Hex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { RuntimeConfig } from "../../contracts/abi/config.ts";
import { toAddress } from "./bytes.ts";
import { applyChanges, readChanges } from "./config-changes.ts";
import { encodeDeploy } from "./encode-deploy.ts";
import type { Intent } from "./intents.ts";
import type { UpdateBasis } from "./update-order.ts";

/** What an intent's transaction calls. */
export interface IntentCall {
  to: Address;
  data: Hex;
  /** The state that went into `data`; null when it depends on none. */
  basis: UpdateBasis | null;
}

/**
 * The call an intent stands for. A deployment's is frozen since it was accepted; an update's holds the
 * whole configuration, so it is made from what the chain has right before signing.
 *
 * @param current the collection's configuration at `basis`; both are null for a deployment.
 */
export function encodeCall(intent: Intent, current: RuntimeConfig | null, basis: UpdateBasis | null): IntentCall {
  if (intent.kind === "deploy") return { to: toAddress(intent.factory), data: encodeDeploy(intent), basis: null };
  if (!current) throw new Error(`update ${intent.id} needs the configuration that it changes`);
  const args = [applyChanges(current, readChanges(intent.payload))] as const;
  const data = encodeFunctionData({ abi: collectionAbi, functionName: "updateConfig", args });
  return { to: toAddress(intent.predicted_addr), data, basis };
}
