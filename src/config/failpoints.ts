import { type Chain, knownChains } from "../chains.ts";
import { isLoopback } from "../http/own-host.ts";
import { ConfigError } from "../setting-words.ts";
import { type Env, isProduction } from "./values.ts";

/** Failpoints kill the process, for the chaos run: never in production, and only with local test chains. */
export function loadFailpoints(env: Env, chains: readonly Chain[]): string | null {
  const setting = env["MINTYARD_CHAOS_CRASH"]?.trim() ?? "";
  if (!setting) return null;
  const known = new Set(Object.values(knownChains).map(({ id }) => id));
  const harmless = (chain: Chain) =>
    chain.local && !known.has(chain.id) && chain.rpcUrls.every((url) => isLoopback(new URL(url).hostname));
  if (isProduction(env) || !chains.every(harmless))
    throw new ConfigError("MINTYARD_CHAOS_CRASH: failpoints are for local chains only; unset it");
  return setting;
}
