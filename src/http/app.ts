import { Hono } from "hono";
import { cors } from "hono/cors";
import { inRequestScope } from "../accounts/authenticate.ts";
import { ServiceError } from "../errors.ts";
import { createGraphQLHandler } from "../graphql/server.ts";
import type { Services } from "../services.ts";
import { asUnavailable } from "../unavailable.ts";
import { nok } from "../v0/answer.ts";
import { createV0 } from "../v0/routes.ts";
import type { AppEnv } from "./app-env.ts";
import { addDocs } from "./docs.ts";
import { createGateway } from "./gateway.ts";
import { addHealth } from "./health.ts";
import { countRequests } from "./metrics.ts";
import { newRequestId } from "./request-id.ts";
import { shedLoad } from "./shed-load.ts";

/** The whole HTTP surface: request id and CORS for all, then one mount per door. */
export function createApp(services: Services): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ strict: false });
  app.use(async (c, next) => {
    const requestId = newRequestId();
    c.set("requestId", requestId);
    c.header("X-Request-Id", requestId);
    await inRequestScope(next);
  });
  app.use(countRequests());
  app.use(shedLoad(services.config.maxRequestsInFlight));
  app.use(
    cors({
      origin: "*",
      allowHeaders: [
        "Authorization",
        "Content-Type",
        "source",
        "Idempotency-Key",
        "x-graphql-yoga-csrf",
        "X-Min-Block",
      ],
      allowMethods: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"],
      exposeHeaders: [
        ...["X-Request-Id", "Retry-After", "ETag", "Idempotency-Key"],
        ...["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Bucket"],
        "X-Request-Id",
        "X-Indexed-Block",
        "X-Indexed-At",
        "X-Indexed-Lag-Seconds",
        "Retry-After",
        "ETag",
        "Idempotency-Key",
      ],
      maxAge: 600,
    }),
  );
  app.route("/v0", createV0(services));
  app.route("/ipfs", createGateway(services));
  app.all("/graphql", createGraphQLHandler(services));
  addHealth(app, services);
  addDocs(app);
  app.notFound((c) => nok(c, new ServiceError("not_found", `nothing is served at ${c.req.path}`), c.get("requestId")));
  app.onError((error, c) => {
    const requestId = c.get("requestId");
    if (error instanceof ServiceError) return nok(c, error, requestId);
    const unavailable = asUnavailable(error);
    if (unavailable) {
      if (unavailable.retryable) services.log.warn({ err: error, requestId }, "database unavailable");
      return nok(c, unavailable, requestId);
    }
    services.log.error({ err: error, requestId }, "unexpected failure");
    return nok(
      c,
      new ServiceError("internal_error", "an unexpected failure; the operator finds it by its request id"),
      requestId,
    );
  });
  return app;
}
