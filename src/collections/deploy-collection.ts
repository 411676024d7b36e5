import type { Address } from "viem";
import { collectionSalt, predictCollection } from "../../contracts/abi/config.ts";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { type Asked, type CarriedOut, carryOut, type Draft, planKey } from "../requests/carry-out.ts";
import { type PlannedCost, planCost } from "../requests/simulate.ts";
import type { Services } from "../services.ts";
import { encodeDeploy, intentName } from "../transactions/chain/request-call.ts";
import { keepTree } from "./allowlists.ts";
import { type CheckedDeployment, checkDeployment, checkTreasury } from "./check-deployment.ts";
import { type DeployCollectionInput, type Deployment, deployments, lowerCase } from "./deployment-input.ts";
import { Problems } from "./problems.ts";

export interface DeployCollectionResult {
  deployment: CarriedOut<Deployment>["request"];
  /** The client's own key, or the key derived from the request. */
  idempotencyKey: string;
  warnings: string[];
}

/**
 * Deploys a collection; see `carryOut`.
 *
 * @throws ServiceError the input's faults; `storage_full` for a new presale list; as `checkTreasury` and `carryOut`.
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
        // Read only on failure, which is rare. A repeated request stores nothing and pays nobody.
        const earlier = await repeated();
        if (earlier) return { earlier };
        throw error;
      }
      return await draftDeployment(services, checked, id);
    },
    // Not in the accepting statement, for which others wait.
    accepted: (intent) => void keepTree(services, intent.allowlist_id, allowlist.stored),
  };
}

/** Id, factory and request determine the transaction's data and the collection's address. */
async function draftDeployment(
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

/** Number of non-zero bytes; zero bytes are compressed away. */
function usedBytes(data: string): number {
  let used = 0;
  for (let at = 2; at < data.length; at += 2) if (data[at] !== "0" || data[at + 1] !== "0") used += 1;
  return used;
}

/** What a deployment would do; nothing was stored, signed or spent for it. */
export interface DeploymentPlan extends PlannedCost {
  chain: Chain;
  /** The same request, deployed with this key, creates the collection at `predictedAddress`. */
  idempotencyKey: string;
  predictedAddress: Address;
  warnings: string[];
}

/**
 * Makes all checks of a deployment without sending it: the request, the treasury, and a simulation of the transaction.
 *
 * @throws ServiceError the gravest fault, with all of them in `details.problems`; `service_unavailable` while the node
 *   does not answer.
 */
export async function planDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeploymentPlan> {
  const problems = new Problems();
  const key = problems.attempt(() => planKey(caller, input.idempotencyKey));
  const checked = await problems.attemptLater(() => checkDeployment(services, caller, input));
  await problems.attemptLater(() =>
    checkTreasury(services, findChain(services.chains, input.chain), input.treasuryAddress),
  );
  problems.check();
  if (!checked || !key) throw new Error("unreachable: what was not checked was a problem");
  const { chain } = checked;
  const { idempotencyKey, id } = key;
  const { owner, initData, predicted, factory: to } = await draftDeployment(services, checked, id);
  const data = encodeDeploy({ root_id: id, owner: toBytes(owner), init_data: toBytes(initData) });
  return {
    chain,
    idempotencyKey,
    predictedAddress: predicted,
    ...(await planCost(services, chain, { to, data })),
    warnings: checked.warnings,
  };
}
