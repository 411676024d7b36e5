import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { payForKeptFile, payForWork } from "../admission/pay-for-work.ts";
import { throttleFailures, throttleOf } from "../admission/throttle-failures.ts";
import type { RequestLog } from "../auth/request-log.ts";
import { PrecompiledOperations } from "../graphql/fast-path/precompiled-operations.ts";
import { Drain } from "../http/drain.ts";
import { EventStreams } from "../http/event-streams.ts";
import { limitServer, serverOptions } from "../http/limits.ts";
import type { Services } from "../services.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { watchStreams, watchWaiting } from "../telemetry/metrics.ts";
import { createApp } from "./app.ts";
import { FastFiles } from "./fast-files.ts";
import { fastPath } from "./fast-path.ts";
import { observeRequests } from "./observe.ts";
import { acceptSessions } from "./session-cookie.ts";
import { takeTurns } from "./take-turns.ts";

/** The HTTP server, not listening yet: the fast path answers its reads, the app everything else; `drain` closes it. */
export function createHttpServer(
  services: Services,
  {
    drain = new Drain(),
    metrics = null,
    streams = new EventStreams(),
    requestLog = null,
  }: { drain?: Drain; metrics?: Metrics | null; streams?: EventStreams; requestLog?: RequestLog | null } = {},
): Server {
  const operations = new PrecompiledOperations();
  const files = new FastFiles();
  const app = getRequestListener(createApp(services, { drain, operations, files, metrics, streams }).fetch);
  const isSecure = services.config.publicUrl.startsWith("https:");
  const ordinary = takeTurns(services, (request, response) => {
    // Browsers load a page before they call an API, so API answers need no such header and stay the same on both paths.
    if (isSecure && !/^\/(graphql|v0)\b/.test(request.url ?? ""))
      response.setHeader("Strict-Transport-Security", "max-age=31536000");
    void app(request, response);
  });
  const paced = payForWork(services, throttleFailures(services, throttleOf(services), ordinary));
  const server = createServer(
    serverOptions,
    files.before(acceptSessions(services, fastPath(services, operations, paced, requestLog)), (request) =>
      payForKeptFile(services, request),
    ),
  );
  limitServer(server);
  drain.watch(server);
  drain.whenClosing(() => streams.endAll());
  if (metrics) {
    observeRequests(server, metrics);
    watchStreams(metrics, services.auth.streams, services.feed);
    const { index, auth } = services;
    watchWaiting(metrics, { heavyReads: () => index.pool.heavyReads(), uploads: () => auth.permits.load });
  }
  return server;
}
