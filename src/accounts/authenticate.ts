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
  const owner = await ownerOf(services, key);
  return { ...owner, requestId };
}

type Owner = Omit<Caller, "requestId">;

/** A key that is revoked or suspended works on for this long at most; most requests come in bursts. */
const keptMs = 500;
const maxKept = 10_000;
const kept = new WeakMap<Services, Map<string, { until: number; owner: Owner }>>();

async function ownerOf(services: Services, key: string): Promise<Owner> {
  const owners = kept.get(services) ?? new Map<string, { until: number; owner: Owner }>();
  kept.set(services, owners);
  const now = Date.now();
  const found = owners.get(key);
  if (found && found.until > now) return found.owner;
  const owner = await findKeyOwner(services.db, services.config.keyPepper, key);
  if (owners.size >= maxKept) owners.clear();
  // From when the question was put, not from when it was answered.
  owners.set(key, { until: now + keptMs, owner });
  return owner;
}
