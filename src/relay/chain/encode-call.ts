import { type Address, encodeFunctionData, type Hex } from "viem";
import { collectionAbi } from "../../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../../contracts/abi/collection-factory.ts";
import type { RuntimeConfig } from "../../../contracts/abi/config.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import { applyChanges, readChanges } from "../store/config-changes.ts";
import type { Intent } from "../store/intents.ts";
import { changesOf } from "../store/operation-payload.ts";
import { changesWithout, type UpdateBasis } from "../store/update-order.ts";
import { encodeOperation, intentName, isOperation, replacesRecord } from "./operation.ts";
import { applyContractChanges, encodeUpdateProduct, type RuntimeRecord } from "./product-record.ts";

/** What an intent's transaction calls. */
export interface IntentCall {
  to: Address;
  data: Hex;
  /** The state that went into `data`; null when it depends on none. */
  basis: UpdateBasis | null;
}

/**
 * The call of anything but an update of a whole record: it is frozen since it was accepted.
 *
 * @throws Error for such an update.
 */
export function encodeFrozen(intent: Intent): IntentCall {
  if (replacesRecord(intent.kind))
    throw new Error(`the call of ${intent.kind} ${intent.id} is made before it is signed`);
  const data = isOperation(intent.kind) ? encodeOperation(intent) : encodeDeploy(intent);
  return { to: toAddress(intent.factory), data, basis: null };
}

/**
 * The call of an update. It holds the whole configuration, so it is made from what the chain has right before signing.
 *
 * @param current the collection's configuration at `basis`.
 * @param superseded members that stay as they are: an update that was accepted later has changed them already, while
 *   this one had to be repeated.
 */
export function encodeUpdate(
  intent: Intent,
  current: RuntimeConfig,
  basis: UpdateBasis,
  superseded: ReadonlySet<string>,
): IntentCall {
  const wanted = Object.entries(readChanges(intent.payload)).filter(([member]) => !superseded.has(member));
  const args = [applyChanges(current, Object.fromEntries(wanted))] as const;
  const data = encodeFunctionData({ abi: collectionAbi, functionName: "updateConfig", args });
  return { to: toAddress(intent.predicted_addr), data, basis };
}

/**
 * The call of an update of a product contract, as `encodeUpdate`.
 *
 * @param current the contract's settings at `basis`.
 */
export function encodeContractUpdate(
  intent: Intent,
  current: RuntimeRecord,
  basis: UpdateBasis,
  superseded: ReadonlySet<string>,
): IntentCall {
  const changes = changesWithout(changesOf(intent), superseded);
  const update = encodeUpdateProduct(
    applyContractChanges(current, changes),
    changes.roles ?? [],
    changes.exit ?? false,
  );
  const data = encodeOperation({ ...intent, init_data: toBytes(update) });
  return { to: toAddress(intent.factory), data, basis };
}

/** Calldata of the factory call, from what was frozen when the intent was accepted. */
export function encodeDeploy(intent: Pick<Intent, "root_id" | "owner" | "init_data">): Hex {
  return encodeFunctionData({
    abi: collectionFactoryAbi,
    functionName: "deploy",
    args: [intentName(intent.root_id), toAddress(intent.owner), toHex(intent.init_data)],
  });
}
