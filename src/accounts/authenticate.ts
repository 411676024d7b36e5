import type { Caller } from "../auth/caller.ts";
import { findKeyOwner, parseAuthorization } from "../auth/keys.ts";
import type { Services } from "../services.ts";

/**
 * Finds out who asks, before anything else of a request is looked at.
 *
 * @param authorization every value of the request's `Authorization` headers.
 * @throws ServiceError `authorization_missing`, `invalid_api_key`, `invalid_credentials`, `account_suspended`.
 */
export async function authenticate(
  services: Services,
  authorization: readonly string[],
  requestId: string,
): Promise<Caller> {
  const key = parseAuthorization(authorization);
  const owner = await findKeyOwner(services.db, services.config.keyPepper, key);
  return { ...owner, requestId };
}
