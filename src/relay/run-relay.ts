import { setTimeout as sleep } from "node:timers/promises";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { loggable } from "./node-failure.ts";
import { pushRound } from "./push-round.ts";
import { isDeployable } from "./relay.ts";
import { createRelayMemory, type RelayMemory } from "./round-steps.ts";
import { watchRound } from "./watch-round.ts";

const slowestRetryMs = 15_000;

/**
 * Drives the deployments of every chain this installation can pay on, until the signal. An outage of a
 * node or of the database delays rounds and nothing else; each chain waits for itself only, and what has a nonce does not
 * wait for what has none.
 */
export async function runRelay(services: Services, signal: AbortSignal): Promise<void> {
  const chains = services.chains.filter(isDeployable);
  await Promise.all(chains.map((chain) => runChain(services, chain, signal)));
}

async function runChain(services: Services, chain: Chain, signal: AbortSignal): Promise<void> {
  const memory = createRelayMemory();
  await Promise.all([watchRound, pushRound].map((round) => repeat(services, chain, memory, round, signal)));
}

async function repeat(
  services: Services,
  chain: Chain,
  memory: RelayMemory,
  round: typeof watchRound | typeof pushRound,
  signal: AbortSignal,
): Promise<void> {
  const facts = { chain: chain.name, round: round.name };
  const periodMs = chain.local ? 200 : 2_000;
  let failures = 0;
  while (!signal.aborted) {
    try {
      await round(services, chain, memory);
      if (failures > 0) services.log.info({ ...facts, failures }, "relay works again");
      failures = 0;
    } catch (error) {
      failures += 1;
      services.log.warn({ ...facts, failures, ...loggable(error) }, "relay round failed");
    }
    const waitMs = failures === 0 ? periodMs : Math.min(periodMs * 2 ** failures, slowestRetryMs);
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
