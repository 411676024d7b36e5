import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../backoff.ts";
import type { Chain } from "../chains.ts";
import { loggable } from "../relay/chain/node-failure.ts";
import type { Services } from "../services.ts";
import { detectDeployments } from "./detect-deployments.ts";

const slowestRetryMs = 60_000;

/** Looks for deployments that creators' own wallets made, on every chain, until the signal. */
export async function runDetection(services: Services, signal: AbortSignal): Promise<void> {
  await Promise.all(services.chains.map((chain) => runChain(services, chain, signal)));
}

async function runChain(services: Services, chain: Chain, signal: AbortSignal): Promise<void> {
  const periodMs = chain.local ? 500 : 12_000;
  let failures = 0;
  while (!signal.aborted) {
    let more = false;
    try {
      more = await detectDeployments(services, chain);
      failures = 0;
    } catch (error) {
      failures += 1;
      services.log.warn({ chain: chain.name, failures, ...loggable(error) }, "looking for deployments failed");
    }
    const waitMs = more ? 0 : backoffMs(failures + 1, { firstMs: periodMs, mostMs: slowestRetryMs });
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
