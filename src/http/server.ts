import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { UncountedPace } from "../accounts/uncounted-pace.ts";
import { KnownOperations } from "../graphql/front.ts";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { watchStreams, watchWaiting } from "../telemetry/metrics.ts";
import { createApp } from "./app.ts";
import { Drain } from "./drain.ts";
import { EventStreams } from "./event-streams.ts";
import { HotFiles } from "./hot-files.ts";
import { limitServer, serverOptions } from "./limits.ts";
import { observeRequests } from "./observe.ts";
import { paceUncounted } from "./pace-uncounted.ts";
import { quickReads } from "./quick-reads.ts";
import { takeTurns } from "./take-turns.ts";

/** The HTTP server, not listening yet: hot reads answered directly, everything else by the app; `drain` ends it. */
export function createHttpServer(
  services: Services,
  {
    drain = new Drain(),
    metrics = null,
    streams = new EventStreams(),
  }: { drain?: Drain; metrics?: Metrics | null; streams?: EventStreams } = {},
): Server {
  const front = new KnownOperations();
  const files = new HotFiles();
  const app = getRequestListener(createApp(services, { drain, front, files, metrics, streams }).fetch);
  const ordinary = takeTurns(services, (request, response) => void app(request, response));
  const server = createServer(
    serverOptions,
    files.inFrontOf(quickReads(services, front, paceUncounted(services, new UncountedPace(), ordinary))),
  );
  limitServer(server);
  drain.watch(server);
  drain.whenClosing(() => streams.endAll());
  if (metrics) {
    observeRequests(server, metrics);
    watchStreams(metrics, services.auth.streams);
    const { index, auth } = services;
    watchWaiting(metrics, { heavyReads: () => index.pool.heavyReads(), uploads: () => auth.slots.load });
  }
  return server;
}
