import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { KnownOperations } from "../graphql/front.ts";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { createApp } from "./app.ts";
import { Drain } from "./drain.ts";
import { HotFiles } from "./hot-files.ts";
import { limitServer, serverOptions } from "./limits.ts";
import { observeRequests } from "./observe.ts";
import { quickReads } from "./quick-reads.ts";

/** The HTTP server, not listening yet: hot reads answered directly, everything else by the app; `drain` ends it. */
export function createHttpServer(
  services: Services,
  { drain = new Drain(), metrics = null }: { drain?: Drain; metrics?: Metrics | null } = {},
): Server {
  const front = new KnownOperations();
  const files = new HotFiles();
  const ordinary = getRequestListener(createApp(services, { drain, front, files, metrics }).fetch);
  const server = createServer(
    serverOptions,
    files.inFrontOf(quickReads(services, front, (request, response) => void ordinary(request, response))),
  );
  limitServer(server);
  drain.watch(server);
  if (metrics) observeRequests(server, metrics);
  return server;
}
