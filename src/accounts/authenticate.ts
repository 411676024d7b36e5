import type { Session } from "../auth/caller.ts";
import { parseAuthorization } from "../auth/key-format.ts";
import type { KeyOwner } from "../auth/keys.ts";
import { setTenant } from "../db/tenancy/tenant.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { tooFast } from "./admit.ts";

/** Wrong keys from one address: a person mistypes a few times, a scanner does not stop. */
const guesses = { perSecond: 0.5, burst: 30 };

/**
 * Authenticates a request, before anything else of it is looked at.
 *
 * @param authorization every value of the request's `Authorization` headers.
 * @param address of the client, whose wrong keys are counted. Null: unknown, nothing is counted.
 * @throws ServiceError `authorization_missing`, `invalid_api_key`, `invalid_credentials`, `account_suspended`,
 * `rate_limit_exceeded` for an address that keeps guessing.
 */
export async function authenticate(
  services: Services,
  authorization: readonly string[],
  requestId: string,
  address: string | null = null,
): Promise<Session> {
  const key = parseAuthorization(authorization);
  const { keys, limiter } = services.auth;
  const bucket = address !== null && services.config.rateLimits ? `auth:${address}` : null;
  // A valid key keeps working from an address where somebody else guesses.
  const blocked = bucket && !keys.knows(key) ? limiter.blockedSeconds(bucket) : 0;
  if (blocked > 0) throw tooFast(Math.ceil(blocked), "this address sent too many keys that do not work");
  try {
    const owner = await keys.owner(key);
    setTenant(owner.accountId, owner.tier);
    return { ...owner, requestId };
  } catch (error) {
    if (bucket && error instanceof ServiceError) {
      const { allowed, retryAfterSeconds } = await limiter.take(bucket, guesses);
      if (!allowed) throw tooFast(retryAfterSeconds, "this address sent too many keys that do not work");
    }
    throw error;
  }
}

/**
 * The session of a key that worked when it was last used here; null for any other key, which has to go through
 * `authenticate`. Statements run with it are not bound to the account, so use it for index reads only.
 */
export function cachedSession(
  services: Services,
  authorization: readonly string[],
  requestId: string,
): Session | null | Promise<Session> {
  const key = parseAuthorization(authorization);
  const { keys } = services.auth;
  const owner = keys.believed(key);
  if (owner) return { ...owner, requestId };
  return keys.knows(key) ? keys.owner(key).then((found) => ({ ...found, requestId })) : null;
}

/** The account whose key or session comes with a page's request; null without a valid one, which pages allow. */
export async function payerOf(services: Services, authorization: readonly string[]): Promise<KeyOwner | null> {
  if (authorization.length === 0) return null;
  try {
    return await services.auth.keys.owner(parseAuthorization(authorization));
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}

/** The owner of a request's key, if it worked when last used here; null: unknown. This authorizes nothing. */
export function lastOwnerOf(services: Services, authorization: readonly string[]): KeyOwner | null {
  if (authorization.length === 0) return null;
  try {
    return services.auth.keys.lastOwner(parseAuthorization(authorization));
  } catch {
    // A malformed header is reported when it is read for authentication.
    return null;
  }
}
