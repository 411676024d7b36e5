import { collectionSalt, predictCollection } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { type Asked, type CarriedOut, carryOut, type Draft } from "../requests/carry-out.ts";
import type { Services } from "../services.ts";
import { intentName } from "../transactions/chain/request-call.ts";
import { keepTree } from "./allowlists.ts";
import { type CheckedDeployment, checkDeployment, checkTreasury } from "./check-deployment.ts";
import { lowerCase } from "./collection-config.ts";
import { type DeployCollectionInput, type Deployment, deployments } from "./deployment-input.ts";

export interface DeployCollectionResult {
  deployment: CarriedOut<Deployment>["request"];
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
  warnings: string[];
}

/**
 * Deploys a collection; see `carryOut`.
 *
 * @throws ServiceError the input's faults; `storage_full` for a new presale list; what `checkTreasury` and `carryOut` throw.
 */
export async function deployCollection(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeployCollectionResult> {
  const checked = await checkDeployment(services, caller, input);
  const asked = askDeployment(services, caller, checked, input.idempotencyKey);
  const { request, idempotencyKey } = await carryOut(services, caller, asked);
  return { deployment: request, idempotencyKey, warnings: checked.warnings };
}

/** @param idempotencyKey as sent. */
export function askDeployment(
  services: Services,
  caller: Caller,
  checked: CheckedDeployment,
  idempotencyKey: string | undefined,
): Asked<Deployment> {
  const { chain, payload, initData, allowlist } = checked;
  return {
    family: deployments,
    chain,
    kind: "deploy",
    canonical: initData,
    idempotencyKey,
    draft: async (id, repeated) => {
      try {
        if (allowlist.entries.length > 0) await services.disk.requireRoom(caller.tier === "free");
        await checkTreasury(services, chain, payload.treasuryAddress);
      } catch (error) {
        // Asked only now: nearly always nothing is wrong. What comes again stores nothing and pays nobody.
        const earlier = await repeated();
        if (earlier) return { earlier };
        throw error;
      }
      return await draftDeployment(services, checked, id);
    },
    // After the statement that everybody waits for.
    accepted: (intent) => void keepTree(services, intent.allowlist_id, allowlist.stored),
  };
}

/** The transaction's data and its address follow from id, factory and request. */
export async function draftDeployment(
  services: Services,
  { chain, payload, initData, allowlist }: CheckedDeployment,
  id: string,
): Promise<Draft> {
  const { address: factory, template } = await services.relay.factory(chain);
  const owner = lowerCase(payload.ownerAddress);
  const intentId = intentName(id);
  const salt = collectionSalt(intentId, owner, initData);
  const predicted = predictCollection({ factory, template, intentId, owner, initData, salt });
  return { payload, allowlist, factory, template, owner, initData, salt, predicted, bytes: usedBytes(initData) };
}

/** Those that are not zero: the rest is packed away. */
function usedBytes(data: string): number {
  let used = 0;
  for (let at = 2; at < data.length; at += 2) if (data[at] !== "0" || data[at + 1] !== "0") used += 1;
  return used;
}
