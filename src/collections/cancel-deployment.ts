import type { Caller } from "../auth/caller.ts";
import { cancelIntent } from "../relay/requests/cancel-intent.ts";
import type { Services } from "../services.ts";
import { type Deployment, getDeployment } from "./get-deployment.ts";

/**
 * Takes a deployment back while the chain has not decided.
 *
 * @returns it as it stands now: `cancelled`, or on its way there.
 * @throws ServiceError `not_found`; `value_error` when it is too late.
 */
export async function cancelDeployment(services: Services, caller: Caller, id: string): Promise<Deployment> {
  // Nobody else's, and no update.
  const newest = await getDeployment(services, caller, { id });
  await cancelIntent(services, caller.accountId, newest.id);
  return await getDeployment(services, caller, { id });
}
