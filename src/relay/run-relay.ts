import { setTimeout as sleep } from "node:timers/promises";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { loggable } from "./node-failure.ts";
import { isDeployable } from "./relay.ts";
import { createRelayMemory, relayRound } from "./relay-round.ts";

const slowestRetryMs = 15_000;

/**
 * Drives the deployments of every chain this installation can pay on, until the signal. An outage of a
 * node or of the database delays rounds and nothing else; each chain waits for itself only.
 */
export async function runRelay(services: Services, signal: AbortSignal): Promise<void> {
  const chains = services.chains.filter(isDeployable);
  await Promise.all(chains.map((chain) => runChain(services, chain, signal)));
}

async function runChain(services: Services, chain: Chain, signal: AbortSignal): Promise<void> {
  const memory = createRelayMemory();
  const periodMs = chain.local ? 200 : 2_000;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await relayRound(services, chain, memory);
      if (failures > 0) services.log.info({ chain: chain.name, failures }, "relay works again");
      failures = 0;
    } catch (error) {
      failures += 1;
      services.log.warn({ chain: chain.name, failures, ...loggable(error) }, "relay round failed");
    }
    const waitMs = failures === 0 ? periodMs : Math.min(periodMs * 2 ** failures, slowestRetryMs);
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
