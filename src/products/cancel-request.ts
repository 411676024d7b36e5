import type { Caller } from "../auth/caller.ts";
import { cancelIntent } from "../relay/requests/cancel-intent.ts";
import type { Services } from "../services.ts";
import { getRequest, type ProductRequest } from "./get-request.ts";

/**
 * Takes a request back while the chain has not decided.
 *
 * @returns it as it stands now: `cancelled`, or on its way there.
 * @throws ServiceError `not_found`; `value_error` when it is too late.
 */
export async function cancelRequest(services: Services, caller: Caller, id: string): Promise<ProductRequest> {
  const newest = await getRequest(services, caller, { id });
  await cancelIntent(services, caller.accountId, newest.id);
  return await getRequest(services, caller, { id });
}
