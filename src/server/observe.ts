import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Metrics } from "../telemetry/metrics.ts";
import { enterRequestSpan } from "../telemetry/span.ts";
import { routeTemplates } from "./route-templates.ts";

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Counts and traces each request of a server, whatever part of the program answers it. */
export function observeRequests(server: Server, metrics: Metrics): void {
  const routeOf = routeTemplates();
  server.prependListener("request", (request: IncomingMessage, response: ServerResponse) => {
    const started = performance.now();
    metrics.load.inFlight += 1;
    const route = routeOf(request.url ?? "");
    const span = enterRequestSpan(`${request.method} ${route}`);
    response.on("close", () => {
      metrics.load.inFlight -= 1;
      const method = methodOf(request);
      const status = String(statusOf(response));
      const seconds = (performance.now() - started) / 1_000;
      metrics.requests.observe({ method, route, status }, seconds);
      if (!span) return;
      span.setAttributes({ "http.route": route, "http.response.status_code": Number(status) });
      span.setAttribute("mintyard.request_id", String(response.getHeader("x-request-id") ?? ""));
      span.end();
    });
  });
}

/** Bounds the label's values, because clients may send any method. */
export function methodOf({ method = "" }: IncomingMessage): string {
  return methods.has(method) ? method : "other";
}

/** The status of an answer that ended. 499, nginx's code, if the client closed the connection first. */
export function statusOf(response: ServerResponse): number {
  return response.writableFinished ? response.statusCode : 499;
}
