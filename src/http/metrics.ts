import type { Context, MiddlewareHandler } from "hono";

const requests = new Map<string, number>();
let durationSeconds = 0;
let inFlight = 0;

/** Counts requests by door, method and status; labels are few by construction. */
export function countRequests(): MiddlewareHandler {
  return async (c, next) => {
    const started = performance.now();
    inFlight += 1;
    try {
      await next();
    } finally {
      inFlight -= 1;
      countRequest(door(c), c.req.method, c.res.status, started);
    }
  };
}

/** @param started by `performance.now()`. */
export function countRequest(door: string, method: string, status: number, started: number): void {
  durationSeconds += (performance.now() - started) / 1000;
  const key = `door="${door}",method="${method}",status="${status}"`;
  requests.set(key, (requests.get(key) ?? 0) + 1);
}

function door(c: Context): string {
  const first = c.req.path.split("/")[1] ?? "";
  return ["v0", "graphql", "ipfs", "docs"].includes(first) ? first : "other";
}

/** The counters in Prometheus' text format 0.0.4. */
export function renderMetrics(): string {
  const { rss, heapUsed } = process.memoryUsage();
  const lines = [
    "# TYPE mintyard_http_requests_total counter",
    ...[...requests].map(([labels, count]) => `mintyard_http_requests_total{${labels}} ${count}`),
    "# TYPE mintyard_http_request_duration_seconds_sum counter",
    `mintyard_http_request_duration_seconds_sum ${durationSeconds.toFixed(6)}`,
    "# TYPE mintyard_http_requests_in_flight gauge",
    `mintyard_http_requests_in_flight ${inFlight}`,
    "# TYPE process_resident_memory_bytes gauge",
    `process_resident_memory_bytes ${rss}`,
    "# TYPE nodejs_heap_size_used_bytes gauge",
    `nodejs_heap_size_used_bytes ${heapUsed}`,
  ];
  return `${lines.join("\n")}\n`;
}
