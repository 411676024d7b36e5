import { type Context, Hono } from "hono";
import { inRequestScope } from "../accounts/request-scope.ts";
import { shedLoad } from "../admission/shed-load.ts";
import { ofApis } from "../admission/throttle-failures.ts";
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
import { addDocs, answerInBrowser } from "./docs.ts";
import { FastFiles } from "./fast-files.ts";
import { createGateway } from "./gateway.ts";
import { addHealth } from "./health.ts";
import { addRequestLog } from "./request-log-route.ts";
import { addSignIn } from "./sign-in-routes.ts";
import { createThumbnailRoutes } from "./thumbnail-routes.ts";
import { WebPages } from "./web-pages.ts";

/** Parts that the app shares with its process. */
export interface AppParts {
  drain?: Drain;
  operations?: PrecompiledOperations;
  files?: FastFiles;
  metrics?: Metrics | null;
  streams?: EventStreams;
}

/** The whole HTTP surface: common headers for all routes, then one mount per API. */
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
  app.get(
    "/docs/*",
    pages.keep((path) => path),
  );
  addLocalWallet(app, services);
  addDocs(
    app,
    pages,
    services.chains.map(({ name }) => name),
  );
  const refuse = async (c: Context<AppEnv>, error: ServiceError) => {
    setErrorHeaders(c);
    // For a page too: `nok` sets Retry-After and notes the error.
    const answer = nok(c, error, c.get("requestId"));
    return isOfPages(c) ? await answerInBrowser(c, pages, error) : answer;
  };
  app.notFound((c) => refuse(c, new ServiceError("not_found", `nothing is served at ${c.req.path.slice(0, 80)}`)));
  app.onError((error, c) => {
    const requestId = c.get("requestId");
    if (error instanceof ServiceError) return refuse(c, error);
    const unavailable = asUnavailable(error);
    if (unavailable) {
      if (unavailable.retryable)
        services.logOnce.write("warn", `database ${causeOf(error)}`, { err: error, requestId }, "database unavailable");
      return refuse(c, unavailable);
    }
    services.log.error({ err: error, requestId }, "unexpected failure");
    return refuse(
      c,
      new ServiceError("internal_error", "an unexpected failure; the operator finds it by its request id"),
    );
  });
  return app;
}

/** Whether somebody looks at GraphiQL: five megabytes that are the same for all. */
function isPage(c: Context<AppEnv>): boolean {
  return !c.req.url.includes("?") && isBrowser(c);
}

/** A person followed a link, and not one to an API or to content. */
function isOfPages(c: Context<AppEnv>): boolean {
  return isBrowser(c) && !ofApis.test(c.req.path) && !/^\/(ipfs|thumbnails)\b/.test(c.req.path);
}

function isBrowser({ req }: Context<AppEnv>): boolean {
  return req.header("accept")?.includes("text/html") === true;
}
