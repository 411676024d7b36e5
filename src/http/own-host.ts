import type { IncomingMessage } from "node:http";

export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * Whether a request names a host of ours. Where browsers find this server on their own machine, any page can make a name of
 * its own lead there, and would then count as a page of this server; its name stays in the header. Where a proxy is in front
 * the header may be anything, and only the proxy decides what comes here.
 */
export function isOwnHost(publicUrl: string, { headers: { host } }: IncomingMessage): boolean {
  const own = new URL(publicUrl);
  if (!isLoopback(own.hostname)) return true;
  return host !== undefined && URL.canParse(`http://${host}`) && isLoopback(new URL(`http://${host}`).hostname);
}
