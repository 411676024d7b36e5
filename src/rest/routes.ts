import type { Context, Hono, MiddlewareHandler } from "hono";
import { authenticate } from "../accounts/authenticate.ts";
import { indexedHeaders, readFreshness } from "../accounts/freshness.ts";
import { costOfRoute, operationOfRoute } from "../accounts/operations.ts";
import { waitForBlock } from "../accounts/wait-for-block.ts";
import { admitOnce } from "../admission/admit-once.ts";
import { setRateHeaders } from "../admission/rate-headers.ts";
import { chainAliases } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { clientAddress } from "../http/client-address.ts";
import type { EventStreams } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { noteRequest } from "../http/request-notes.ts";
import type { Services } from "../services.ts";
import { withSpan } from "../telemetry/span.ts";
import { addAccounts } from "./accounts.ts";
import { createV0App, type V0App, type V0Env } from "./app.ts";
import { addCollections } from "./collections.ts";
import { addMeContracts, addProductContracts } from "./contracts.ts";
import { addEvents } from "./events.ts";
import { addFiles, addStorage } from "./files.ts";
import { addKeys, addSettings, addSignUp } from "./me.ts";
import { addMetadata } from "./metadata.ts";
import { addMinted } from "./minted.ts";
import { addEasyMints, addMints } from "./mints.ts";
import { addNfts, addReports, addSearch } from "./nfts.ts";
import { addTransactions } from "./transactions.ts";
import { addWebhooks } from "./webhooks.ts";

/** The legacy REST API: every path except `/` and sign-up needs a key, and the key is checked first. */
export function createV0(services: Services): Hono<V0Env> {
  const app = createV0App();
  addServiceInfo(app);
  addSignUp(app, services);
  app.use(admit(services, (c) => (c.req.method === "GET" ? costOfRoute(c.env.incoming.url ?? "") : 1)));
  // Before anything costly: scripts repeat these requests without a pause.
  addUnbuilt(app);
  addKeys(app, services);
  addSettings(app, services);
  app.use(async (c, next) => {
    const minBlock = c.env.incoming.headers["x-min-block"];
    if (typeof minBlock === "string") await waitForBlock(services, minBlock);
    const name = c.req.method === "GET" ? c.req.query("chain") : undefined;
    if (name !== undefined) {
      const head = (await readFreshness(services))[chainAliases[name] ?? name];
      for (const [header, value] of Object.entries(indexedHeaders(head))) c.header(header, value);
    }
    await next();
  });
  addFiles(app, services);
  addMetadata(app, services);
  addCollections(app, services);
  addProductContracts(app, services);
  addMints(app, services);
  addEasyMints(app, services);
  addMinted(app, services);
  addMeContracts(app, services);
  addAccounts(app, services);
  addNfts(app, services);
  addTransactions(app, services);
  addReports(app, services);
  addSearch(app, services);
  addStorage(app, services);
  app.all("*", (c) => {
    const routes = app.routes.filter((route) => route.method !== "ALL" && matches(route.path, c.req.path));
    if (routes.length > 0) {
      const methods = [...new Set(routes.map(({ method }) => method))].sort().join(", ");
      c.header("Allow", methods);
      const fix = `Use one of the methods that are: ${methods}.`;
      throw new ServiceError("method_not_allowed", `${c.req.method} is not served at ${c.req.path}`, { fix });
    }
    throw new ServiceError("not_found", `nothing is served at ${c.req.path}`);
  });
  return app;
}

/** Checks the key, and admits the request by its scope, quota and rate. @param costOf its cost in requests. */
function admit(services: Services, costOf: (c: Context<V0Env>) => number): MiddlewareHandler<V0Env> {
  return async (c, next) => {
    const { incoming } = c.env;
    const address = clientAddress(incoming, services.config.trustedProxies);
    const authorization = rawHeaderValues(incoming, "authorization");
    const session = await authenticate(services, authorization, c.get("requestId"), address);
    noteRequest(incoming, { accountId: session.accountId, keyId: session.keyId });
    c.set("caller", session);
    c.set("session", session);
    const operation = operationOfRoute(c.req.method, c.req.path);
    await admitOnce(incoming, services, session, operation, costOf(c), (admission) => setRateHeaders(c, admission));
    await withSpan("use case", {}, next);
  };
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split("/").filter(Boolean);
  // The pattern lacks the mount's prefix if the routes are read from the mounted app itself.
  const given = path.split("/").filter(Boolean).slice(1);
  return wanted.length === given.length && wanted.every((part, index) => part.startsWith(":") || part === given[index]);
}

/** GET / describes the service; a read that needs no key. */
function addServiceInfo(app: V0App): void {
  app.get("/", (c) =>
    c.json({
      title: "Mintyard",
      description: "NFT uploads, launches, mints and data over HTTP",
      version: "1.0.0",
    }),
  );
}

const noImages = "this service keeps no index of what pictures look like; compare metadata with GET /v0/search";
const noMarket = "this service indexes no market, so it knows no volumes and sales to rank contracts by";

/** Operations of the original service that this one lacks, and why: clients get the reason, not `not_found`. */
const operations: readonly [method: string, path: string, why: string][] = [
  ["POST", "/recommendations/similar_nfts/urls", noImages],
  ["POST", "/recommendations/similar_nfts/files", noImages],
  ["POST", "/duplicates/urls", noImages],
  ["POST", "/duplicates/files", noImages],
  ["POST", "/duplicates/tokens", noImages],
  ["GET", "/contracts/top", noMarket],
];

function addUnbuilt(app: V0App): void {
  for (const [method, path, why] of operations) {
    app.on(method, path, () => {
      throw new ServiceError("not_implemented", `${method} /v0${path} is not served: ${why}`);
    });
  }
}

/** Operations newer than the legacy REST API, in its envelope: events and webhooks. Every path needs a key. */
export function createV1(services: Services, streams: EventStreams): Hono<V0Env> {
  const app = createV0App();
  app.use(admit(services, () => 1));
  addEvents(app, services, streams);
  addWebhooks(app, services);
  app.all("*", (c) => {
    throw new ServiceError("not_found", `nothing is served at ${c.req.path}`);
  });
  return app;
}
