import type { IncomingMessage } from "node:http";
import { admitReading, type PageReading } from "../accounts/admit-address.ts";
import type { Reader } from "../collections/kept-readings.ts";
import { clientAddress } from "../http/client-address.ts";
import type { Services } from "../services.ts";

/** Who makes this server ask a node through a page, and pays for it: the address that the request comes from. */
export function pageReader(services: Services, request: IncomingMessage, what: PageReading): Reader {
  const address = clientAddress(request, services.config.trustedProxies);
  return { owner: `address:${address ?? ""}`, admit: async () => await admitReading(services, address, what) };
}
