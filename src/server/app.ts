import { type Context, Hono } from "hono";
import { inRequestScope } from "../accounts/request-scope.ts";
import { shedLoad } from "../admission/shed-load.ts";
import { ServiceError } from "../errors/errors.ts";
import { asUnavailable } from "../errors/unavailable.ts";
import { PrecompiledOperations } from "../graphql/fast-path/precompiled-operations.ts";
import { createGraphQLHandler } from "../graphql/server.ts";
import type { AppEnv } from "../http/app-env.ts";
import { commonHeaders, setErrorHeaders } from "../http/common-headers.ts";
import { Drain } from "../http/drain.ts";
import { EventStreams } from "../http/event-streams.ts";
import { nok } from "../rest/answer.ts";
import { createV0, createV1 } from "../rest/routes.ts";
import type { Services } from "../services.ts";
import { causeOf } from "../telemetry/log-once.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { addConsole, addLocalWallet, addMintPage } from "./chain-pages.ts";
import { addDocs } from "./docs.ts";
import { FastFiles } from "./fast-files.ts";
import { createGateway } from "./gateway.ts";
import { addHealth } from "./health.ts";
import { addRequestLog } from "./request-log-route.ts";
import { addSignIn } from "./sign-in-routes.ts";
import { createThumbnailRoutes } from "./thumbnail-routes.ts";
import { WebPages } from "./web-pages.ts";

/** What a process may share with its app. */
export interface AppParts {
  drain?: Drain;
  operations?: PrecompiledOperations;
  files?: FastFiles;
  metrics?: Metrics | null;
  streams?: EventStreams;
}

/** The whole HTTP surface: common headers for all, then one mount per API. */
export function createApp(
  services: Services,
  {
    drain = new Drain(),
    operations = new PrecompiledOperations(),
    files = new FastFiles(),
    metrics = null,
    streams = new EventStreams(),
  }: AppParts = {},
): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ strict: false });
  app.use(commonHeaders());
  app.use(async (c, next) => await inRequestScope(next, c.env?.outgoing ?? null));
  app.use(shedLoad(services));
  app.route("/v0", createV0(services));
  app.route("/v1", createV1(services, streams));
  app.route("/ipfs", createGateway(services, files));
  app.route("/thumbnails", createThumbnailRoutes(services));
  const pages = new WebPages();
  const explorer = pages.keep((path) => path);
  app.get("/graphql", async (c, next) => await (isPage(c) ? explorer(c, next) : next()));
  app.all("/graphql", createGraphQLHandler(services, operations, streams));
  addHealth(app, services, drain, metrics);
  addSignIn(app, services);
  pages.addAssets(app);
  addMintPage(app, services, pages);
  addRequestLog(app, services);
  addConsole(app, services, pages);
  app.use(
    "/docs/*",
    pages.keep((path) => path),
  );
  addLocalWallet(app, services);
  addDocs(
    app,
    pages,
    services.chains.map(({ name }) => name),
  );
  app.notFound((c) => nok(c, new ServiceError("not_found", `nothing is served at ${c.req.path}`), c.get("requestId")));
  app.onError((error, c) => {
    setErrorHeaders(c);
    const requestId = c.get("requestId");
    if (error instanceof ServiceError) return nok(c, error, requestId);
    const unavailable = asUnavailable(error);
    if (unavailable) {
      if (unavailable.retryable)
        services.logOnce.write("warn", `database ${causeOf(error)}`, { err: error, requestId }, "database unavailable");
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

/** Whether somebody looks at GraphiQL: five megabytes that are the same for all. */
function isPage({ req }: Context<AppEnv>): boolean {
  return !req.url.includes("?") && req.header("accept")?.includes("text/html") === true;
}
