import type { IncomingMessage } from "node:http";
import { admitReading } from "../accounts/admit-address.ts";
import { payerOf } from "../accounts/authenticate.ts";
import { documentOwner } from "../accounts/document-budget.ts";
import { findChain } from "../chains.ts";
import type { Reader } from "../collections/kept-readings.ts";
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
      await admitReading(services, (await payerOf(services, key)) ?? address, calls);
    },
  };
}
