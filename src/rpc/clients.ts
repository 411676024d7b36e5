import { createPublicClient, fallback, http, type PublicClient, webSocket } from "viem";
import type { Chain } from "../chains.ts";
import { tracedFetch } from "../telemetry/trace-rpc.ts";
import { splitCredentials } from "./endpoint.ts";

export type RpcClients = (chain: Chain) => PublicClient;

/**
 * One client per chain over all its endpoints, tried in order.
 *
 * CCIP-Read is off: with it, a hostile view function makes this server request any URL (EIP-3668). Retries are left to
 * the caller: a repeated send must never be hidden.
 */
export function createRpcClients(): RpcClients {
  const clients = new Map<number, PublicClient>();
  return (chain) => {
    const known = clients.get(chain.id);
    if (known) return known;
    const transports = chain.rpcUrls.map((address) => {
      if (/^ws/.test(address)) return webSocket(address, { timeout: 10_000, retryCount: 0 });
      const { url, headers } = splitCredentials(address);
      return http(url, { timeout: 10_000, retryCount: 0, fetchFn: tracedFetch, fetchOptions: { headers } });
    });
    const client = createPublicClient({
      chain: {
        id: chain.id,
        name: chain.name,
        nativeCurrency: { name: "Native", symbol: "NATIVE", decimals: 18 },
        rpcUrls: { default: { http: [...chain.rpcUrls] } },
      },
      transport: fallback(transports, { retryCount: 0 }),
      ccipRead: false,
      cacheTime: 0,
      pollingInterval: chain.local ? 200 : 2_000,
    });
    clients.set(chain.id, client as PublicClient);
    return client as PublicClient;
  };
}
