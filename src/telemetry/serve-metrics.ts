import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { isIP } from "node:net";
import type { Metrics } from "./metrics.ts";

/**
 * Whether a client may read the metrics: one with the token, or, if there is none, a client on this machine that did
 * not come through a proxy. All others get 404.
 */
export function mayReadMetrics(request: IncomingMessage, token: string | null): boolean {
  if (token !== null) {
    const given = Buffer.from(request.headers.authorization ?? "");
    const wanted = Buffer.from(`Bearer ${token}`);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
  const { host, "x-forwarded-for": forwardedFor, forwarded = forwardedFor } = request.headers;
  // A web page whose name was made to resolve to this machine (DNS rebinding) has that name in the header.
  const isNamedHere = host === undefined || isAddressOrLocal(host);
  return (
    isNamedHere && forwarded === undefined && /^(127\.|::1$|::ffff:127\.)/.test(request.socket.remoteAddress ?? "")
  );
}

function isAddressOrLocal(host: string): boolean {
  const { hostname } = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : { hostname: "" };
  return hostname === "localhost" || isIP(hostname.replace(/^\[|\]$/g, "")) > 0;
}

/** A server only for `/metrics`, for processes that serve nothing else. */
export async function serveMetrics(
  { registry }: Metrics,
  { host, port, token }: { host: string; port: number; token: string | null },
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.url !== "/metrics" || !mayReadMetrics(request, token)) {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { "Content-Type": registry.contentType }).end(text),
      () => response.writeHead(503).end(),
    );
  });
  await new Promise<void>((ready, failed) => server.once("error", failed).listen(port, host, ready));
  return server;
}
