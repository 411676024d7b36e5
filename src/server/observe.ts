import { type IncomingMessage, Server, type ServerResponse } from "node:http";
import type { ServerType } from "@hono/node-server";
import type { Metrics } from "../telemetry/metrics.ts";
import { enterRequestSpan } from "../telemetry/span.ts";
import { routeTemplates } from "./route-templates.ts";

const methods = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]);

/** Counts and traces each request of a server, whatever part of the program answers it. */
export function observeRequests(server: ServerType, metrics: Metrics): void {
  if (!(server instanceof Server)) return;
  const routeOf = routeTemplates();
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const started = performance.now();
    metrics.load.inFlight += 1;
    const route = routeOf(request.url ?? "");
    const span = enterRequestSpan(`${request.method} ${route}`);
    response.on("close", () => {
      metrics.load.inFlight -= 1;
      const method = methods.has(request.method ?? "") ? (request.method ?? "") : "other";
      // A connection that broke before the answer's end: the client's doing, in nginx' word for it.
      const status = response.writableFinished ? String(response.statusCode) : "499";
      const seconds = (performance.now() - started) / 1_000;
      metrics.requests.observe({ method, route, status }, seconds);
      if (!span) return;
      span.setAttributes({ "http.route": route, "http.response.status_code": Number(status) });
      span.setAttribute("mintyard.request_id", String(response.getHeader("x-request-id") ?? ""));
      span.end();
    });
  });
}
