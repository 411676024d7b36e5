import type { Hono } from "hono";
import { authenticate } from "../accounts/authenticate.ts";
import { operationOfRoute } from "../accounts/operations.ts";
import { admitOnce } from "../admission/admit-once.ts";
import { setRateHeaders } from "../admission/rate-headers.ts";
import { ServiceError } from "../errors/errors.ts";
import { clientAddress } from "../http/client-address.ts";
import type { EventStreams } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import type { Services } from "../services.ts";
import { withSpan } from "../telemetry/span.ts";
import { createV0App, type V0Env } from "./app.ts";
import { addEvents } from "./events.ts";
import { addWebhooks } from "./webhooks.ts";

/** What is newer than the legacy REST API and has its envelope: events and webhooks. Every path needs a key. */
export function createV1(services: Services, streams: EventStreams): Hono<V0Env> {
  const app = createV0App();
  app.use(async (c, next) => {
    const address = clientAddress(c.env.incoming, services.config.trustedProxies);
    const authorization = rawHeaderValues(c.env.incoming, "authorization");
    const session = await authenticate(services, authorization, c.get("requestId"), address);
    c.set("caller", session);
    c.set("session", session);
    const operation = operationOfRoute(c.req.method, c.req.path);
    await admitOnce(c.env.incoming, services, session, operation, 1, (admission) => setRateHeaders(c, admission));
    await withSpan("use case", {}, next);
  });
  addEvents(app, services, streams);
  addWebhooks(app, services);
  app.all("*", (c) => {
    throw new ServiceError("not_found", `nothing is served at ${c.req.path}`);
  });
  return app;
}
