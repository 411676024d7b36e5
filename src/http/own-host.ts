import type { IncomingMessage } from "node:http";

export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * Whether a request's `Host` is one of ours. If browsers reach this server on their own machine, any page can point a
 * name of its own at it (DNS rebinding) and would then count as a page of this server; the header still has that name.
 * Behind a proxy the header may be anything, and the proxy alone decides what comes here.
 */
export function isOwnHost(publicUrl: string, { headers: { host } }: IncomingMessage): boolean {
  const own = new URL(publicUrl);
  if (!isLoopback(own.hostname)) return true;
  return host !== undefined && URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname);
}
