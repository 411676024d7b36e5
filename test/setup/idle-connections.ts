import { Server } from "node:http";

/**
 * Lets a server of a test keep idle connections for a minute. With the product's five seconds, a test that keeps its own
 * process busy for that long sends its next request on a connection which the server, in the same process, closes just then.
 */
export function keepIdleConnections(server: unknown): void {
  if (server instanceof Server) server.keepAliveTimeout = 60_000;
}
