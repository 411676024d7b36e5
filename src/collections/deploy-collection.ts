import type { Hex } from "viem";
import type { Caller } from "../auth/caller.ts";
import { asLost, untilSigned, withoutHash } from "../relay/requests/until-signed.ts";
import type { Services } from "../services.ts";
import { acceptDeployment, checkKey, hashRequest } from "./accept-deployment.ts";
import { type CheckedDeployment, checkDeployment } from "./check-deployment.ts";
import type { DeployCollectionInput } from "./deployment-input.ts";
import { type Deployment, getFreshDeployment } from "./get-deployment.ts";
import { SharedRequests } from "./shared-requests.ts";

export interface DeployCollectionResult {
  deployment: Deployment & { transactionHash: Hex };
  /** The client's own key, or the one derived from the request. */
  idempotencyKey: string;
  warnings: string[];
}

/**
 * Deploys a collection: the request becomes durable, gets its nonce, is signed and stored, and only then
 * answered with its hash; the relay finishes it whatever happens to this process.
 *
 * @throws ServiceError the input's faults; `service_unavailable` when it could not be signed within ten
 *   seconds: it stays queued, and the same request asks for it again.
 */
export async function deployCollection(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<DeployCollectionResult> {
  const checked = await checkDeployment(services, caller, input);
  const key = checkKey(input.idempotencyKey);
  const requests = sharedBy.get(services) ?? new SharedRequests();
  sharedBy.set(services, requests);
  const name = `${caller.accountId} ${key} ${hashRequest(checked).toString("hex")}`;
  const result = await requests.do(name, () => deployChecked(services, caller, key, checked));
  return { ...result, warnings: checked.warnings };
}

type Deployed = Omit<DeployCollectionResult, "warnings">;
const sharedBy = new WeakMap<Services, SharedRequests<Deployed>>();

async function deployChecked(
  services: Services,
  caller: Caller,
  key: string | null,
  checked: CheckedDeployment,
): Promise<Deployed> {
  const intent = await acceptDeployment(services, caller, key, checked);
  await untilSigned(services, checked.chain, intent);
  const deployment = await getFreshDeployment(services, caller, intent.id).catch(asLost);
  const { transactionHash } = deployment;
  if (!transactionHash) throw withoutHash(intent, deployment.state);
  return {
    deployment: { ...deployment, transactionHash },
    idempotencyKey: (intent.idem_key ?? "").replace(/^client:/, ""),
  };
}
