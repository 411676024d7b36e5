import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import { getIntent, moveIntent, unassignedStates } from "../relay/intents.ts";
import type { Services } from "../services.ts";
import { type Deployment, getDeployment } from "./get-deployment.ts";

/**
 * Cancels a deployment that has no nonce yet. From then on its bytes exist, and only the chain decides.
 *
 * @throws ServiceError `not_found`; `value_error` when it is too late.
 */
export async function cancelDeployment(services: Services, caller: Caller, id: string): Promise<Deployment> {
  const { state } = await getDeployment(services, caller, { id });
  if (state === "cancelled") return await getDeployment(services, caller, { id });
  // Another process may be about to give it its nonce; whoever is second sees that it moved.
  for (let pass = 0; pass < 3; pass += 1) {
    const intent = await getIntent(services.db, id);
    if (!(unassignedStates as readonly string[]).includes(intent.state)) break;
    if (await moveIntent(services.db, intent, "cancelled")) return await getDeployment(services, caller, { id });
  }
  throw new ServiceError("value_error", "the deployment cannot be cancelled any more: its transaction is on its way", {
    field: "id",
  });
}
