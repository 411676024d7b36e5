import type { IncomingMessage } from "node:http";
import { admitReading, type Payer } from "../accounts/admit-address.ts";
import { documentOwner } from "../accounts/document-budget.ts";
import { parseAuthorization } from "../auth/key-format.ts";
import { findChain } from "../chains.ts";
import type { Reader } from "../collections/kept-readings.ts";
import { ServiceError } from "../errors/errors.ts";
import { clientAddress } from "../http/client-address.ts";
import { rawHeaderValues } from "../http/headers.ts";
import type { Services } from "../services.ts";

/**
 * Who makes this server ask a node through a page, and pays for it: the account whose key or session comes along, else the
 * address that the request comes from. Calls of a local chain cost nothing.
 */
export function pageReader(services: Services, request: IncomingMessage, chain: string): Reader {
  const address = clientAddress(request, services.config.trustedProxies);
  const key = rawHeaderValues(request, "authorization");
  const owner = documentOwner(services, key, address);
  return {
    owner: owner.replace(" ", ":"),
    admit: async (calls) => {
      if (findChain(services.chains, chain).local) return;
      await admitReading(services, (await accountOf(services, key)) ?? address, calls);
    },
  };
}

/** @returns null for a request without a key, or with one that does not work: a page is shown all the same. */
async function accountOf(services: Services, authorization: readonly string[]): Promise<Payer | null> {
  if (authorization.length === 0) return null;
  try {
    return await services.auth.keys.owner(parseAuthorization(authorization));
  } catch (error) {
    if (error instanceof ServiceError) return null;
    throw error;
  }
}
