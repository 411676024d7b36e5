import { type IncomingMessage, Server, type ServerResponse } from "node:http";
import type { ServerType } from "@hono/node-server";
import type { Metrics } from "../telemetry/metrics.ts";
import { routeTemplates } from "./route-templates.ts";

const methods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]);

/** Counts each request of a server when its answer ends, whatever part of the program gives it. */
export function observeRequests(server: ServerType, metrics: Metrics): void {
  if (!(server instanceof Server)) return;
  const routeOf = routeTemplates();
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const started = performance.now();
    metrics.inFlight.inc();
    response.once("close", () => {
      metrics.inFlight.dec();
      const method = methods.has(request.method ?? "") ? (request.method ?? "") : "other";
      // A connection that broke before the answer's end: the client's doing, in nginx' word for it.
      const status = response.writableFinished ? String(response.statusCode) : "499";
      const seconds = (performance.now() - started) / 1_000;
      metrics.requests.observe({ method, route: routeOf(request.url ?? ""), status }, seconds);
    });
  });
}
