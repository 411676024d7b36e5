import type { Hono } from "hono";
import { requireScope } from "../accounts/admit.ts";
import { authenticate } from "../accounts/authenticate.ts";
import { listRequests } from "../accounts/list-requests.ts";
import { payMore } from "../admission/pay-for-work.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { ok } from "../rest/answer.ts";
import { queryInput } from "../rest/query.ts";
import type { Services } from "../services.ts";

/** The cost of a page beyond a request's: a search scans the whole log of the account. */
const pageMs = 10;

/**
 * `/console/requests`: the account's requests of the last 24 hours, for the console. It needs the same scope as the
 * list of keys, because a key for reading need not see what the account's other keys do.
 */
export function addRequestLog(app: Hono<AppEnv>, services: Services): void {
  app.get("/console/requests", async (c) => {
    c.header("Cache-Control", "no-store");
    const { incoming } = c.env;
    const address = clientAddress(incoming, services.config.trustedProxies);
    const authorization = rawHeaderValues(incoming, "authorization");
    const session = await authenticate(services, authorization, c.get("requestId"), address);
    requireScope(session, { scope: "admin", bucket: "read" });
    const input = queryInput(c);
    const filter = {
      failed: input.boolean("failed") ?? false,
      ...{ key: input.text("key"), search: input.text("search"), before: input.text("before") },
    };
    input.check();
    if (!services.config.requestLog) return ok(c, { kept: false, requests: [], before: null });
    await payMore(services, incoming, pageMs);
    const { requests, before } = await listRequests(services, session, filter);
    const shown = requests.map(({ requestId, ...request }) => ({ ...request, request_id: requestId }));
    return ok(c, { kept: true, requests: shown, before });
  });
}
