import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import ipaddr from "ipaddr.js";
import type { Logger } from "../telemetry/log.ts";

/**
 * The address of a request's client. `X-Forwarded-For` is read from its end, for as long as the hops are our own
 * proxies: anything before them was written by the client.
 *
 * @param trusted CIDR ranges of our reverse proxies.
 * @returns for IPv6 the client's /64, because each client has as many addresses in it as it likes; null if the
 * connection is already gone.
 */
export function clientAddress(request: IncomingMessage, trusted: readonly string[]): string | null {
  const header = request.headers["x-forwarded-for"];
  const hops = (Array.isArray(header) ? header.join(",") : (header ?? "")).split(",").slice(-20);
  let address = request.socket.remoteAddress ?? null;
  while (address !== null && isWithin(address, trusted)) {
    const hop = hops.pop()?.trim();
    if (!hop || !ipaddr.isValid(hop)) break;
    address = hop;
  }
  return address === null ? null : networkOf(address);
}

function isWithin(address: string, ranges: readonly string[]): boolean {
  if (ranges.length === 0 || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return ranges.some((range) => {
    const network = parsedRanges.get(range) ?? ipaddr.parseCIDR(range);
    parsedRanges.set(range, network);
    return network[0].kind() === parsed.kind() && parsed.match(network);
  });
}

/** The ranges come from the configuration, so they are few; each request is compared with them several times. */
const parsedRanges = new Map<string, ReturnType<typeof ipaddr.parseCIDR>>();

/** An IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** Linux' routing table; other systems have no such containers. */
const routeTable = "/proc/net/route";

/**
 * Warns if `TRUSTED_PROXIES` covers the gateway of this process's network. In a container network everything that comes
 * from the host has that address, including clients (a published port, IPv6): each could then write its own address
 * into `X-Forwarded-For`. It is right only if a proxy on the host is the only way in.
 */
export async function warnOfTrustedGateway(trusted: readonly string[], log: Logger): Promise<void> {
  if (trusted.length === 0) return;
  const table = await readFile(routeTable, "latin1").catch(() => "");
  for (const gateway of defaultGateways(table))
    if (isWithin(gateway, trusted))
      log.warn(
        { gateway, trusted },
        "TRUSTED_PROXIES covers the network's gateway: every client behind it chooses the address that is counted; name the proxy's own address",
      );
}

/** @param table in Linux' format: little-endian hex. @returns the IPv4 gateways of default routes. */
export function defaultGateways(table: string): string[] {
  return table.split("\n").flatMap((line) => {
    const [, destination, gateway = ""] = line.trim().split(/\s+/);
    if (destination !== "00000000" || !/^[0-9A-F]{8}$/i.test(gateway) || Number(`0x${gateway}`) === 0) return [];
    return [ipaddr.fromByteArray([...Buffer.from(gateway, "hex")].reverse()).toString()];
  });
}
