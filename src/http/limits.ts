import { Server } from "node:http";
import type { ServerType } from "@hono/node-server";

/** Bounds what one connection can hold up: slow headers, slow bodies, idle keep-alive. */
export function limitServer(server: ServerType): void {
  if (!(server instanceof Server)) return;
  server.headersTimeout = 10_000;
  // Uploads of the largest size over a slow line still have to fit.
  server.requestTimeout = 300_000;
  server.keepAliveTimeout = 5_000;
  server.maxConnections = 2_000;
  server.maxRequestsPerSocket = 0;
}
