import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { UncountedPace } from "../accounts/uncounted-pace.ts";
import { paceUncounted } from "../admission/pace-uncounted.ts";
import { KnownOperations } from "../graphql/fast-path/precompiled-operations.ts";
import { Drain } from "../http/drain.ts";
import { EventStreams } from "../http/event-streams.ts";
import { limitServer, serverOptions } from "../http/limits.ts";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { watchStreams, watchWaiting } from "../telemetry/metrics.ts";
import { createApp } from "./app.ts";
import { HotFiles } from "./fast-files.ts";
import { quickReads } from "./fast-path.ts";
import { observeRequests } from "./observe.ts";
import { acceptSessions } from "./session-cookie.ts";
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
    files.inFrontOf(
      acceptSessions(services, quickReads(services, front, paceUncounted(services, new UncountedPace(), ordinary))),
    ),
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
