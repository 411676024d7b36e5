import { readFile } from "node:fs/promises";
import ipaddr from "ipaddr.js";
import type { Logger } from "../telemetry/log.ts";
import { isWithin } from "./client-address.ts";

/** Linux' routing table; other systems have no containers of this kind. */
const routeTable = "/proc/net/route";

/**
 * Says so when `TRUSTED_PROXIES` covers the gateway of this process's network. In a container network whatever comes
 * from the host has that address, clients among it (a published port, IPv6): each could then write its own address
 * into `X-Forwarded-For`. Right only where a proxy on the host is the only way in.
 */
export async function warnOfTrustedGateway(trusted: readonly string[], log: Logger): Promise<void> {
  if (trusted.length === 0) return;
  const table = await readFile(routeTable, "latin1").catch(() => "");
  for (const gateway of defaultGateways(table))
    if (isWithin(gateway, trusted))
      log.warn(
        { gateway, trusted },
        "TRUSTED_PROXIES covers the network's gateway: whoever comes through it chooses the address that is counted; name the proxy's own address",
      );
}

/** @param table as Linux writes it: little-endian hex. @returns the IPv4 gateways of default routes. */
export function defaultGateways(table: string): string[] {
  return table.split("\n").flatMap((line) => {
    const [, destination, gateway = ""] = line.trim().split(/\s+/);
    if (destination !== "00000000" || !/^[0-9A-F]{8}$/i.test(gateway) || Number(`0x${gateway}`) === 0) return [];
    return [ipaddr.fromByteArray([...Buffer.from(gateway, "hex")].reverse()).toString()];
  });
}
