import { randomUUID } from "node:crypto";
import type { Address } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { encodeDeploy } from "../relay/chain/encode-call.ts";
import { storedKey } from "../relay/requests/accept-intent.ts";
import type { Services } from "../services.ts";
import { checkKey, idOfKey } from "../transactions/carry-out.ts";
import { type PlannedCost, planCost } from "../transactions/simulate.ts";
import { checkDeployment } from "./check-deployment.ts";
import { checkTreasury } from "./check-treasury.ts";
import { draftDeployment } from "./deploy-collection.ts";
import type { DeployCollectionInput } from "./deployment-input.ts";
import { Problems } from "./problems.ts";

/** What a deployment would do; nothing of it was stored, signed or spent. */
export interface DeploymentPlan extends PlannedCost {
  chain: Chain;
  /** Deploy the same request with this key, and the collection will be at `predictedAddress`. */
  idempotencyKey: string;
  predictedAddress: Address;
  warnings: string[];
}

/**
 * Checks a deployment in every way short of doing it: the request, the treasury, and the transaction by
 * simulation.
 *
 * @throws ServiceError the gravest fault, all of them in `details.problems`; `service_unavailable` while the
 *   node does not answer.
 */
export async function planDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeploymentPlan> {
  const problems = new Problems();
  const key = problems.attempt(() => checkKey(input.idempotencyKey));
  const checked = await problems.attemptLater(() => checkDeployment(services, caller, input));
  await problems.attemptLater(() =>
    checkTreasury(services, findChain(services.chains, input.chain), input.treasuryAddress),
  );
  problems.check();
  if (!checked) throw new Error("unreachable: what was not checked was a problem");
  const { chain } = checked;
  const idempotencyKey = key ?? randomUUID();
  const id = idOfKey(caller, storedKey(idempotencyKey));
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
