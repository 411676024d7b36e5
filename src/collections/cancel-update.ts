import type { Caller } from "../auth/caller.ts";
import { cancelIntent } from "../relay/requests/cancel-intent.ts";
import type { Services } from "../services.ts";
import { type CollectionUpdate, getUpdate } from "./get-update.ts";

/**
 * Takes an update back while the chain has not decided; the next update of the collection goes on then.
 *
 * @returns it as it stands now: `cancelled`, or on its way there.
 * @throws ServiceError `not_found`; `value_error` when it is too late.
 */
export async function cancelUpdate(services: Services, caller: Caller, id: string): Promise<CollectionUpdate> {
  // Nobody else's, and no deployment.
  await getUpdate(services, caller, id);
  await cancelIntent(services, caller.accountId, id);
  return await getUpdate(services, caller, id);
}
