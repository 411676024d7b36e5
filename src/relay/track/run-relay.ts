import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import type { Chain } from "../../chains.ts";
import type { Logger } from "../../telemetry/log.ts";
import { causeOf, LogOnce } from "../../telemetry/log-once.ts";
import type { RelayContext } from "../chain/context.ts";
import { isDeployable } from "../chain/deployable.ts";
import { loggable } from "../chain/node-failure.ts";
import { confirmRound } from "./confirm-loop.ts";
import { createRelayMemory } from "./loop-steps.ts";
import { resubmitRound } from "./resubmit-loop.ts";
import { submitRound } from "./submit-loop.ts";
import { watchCounts } from "./watch-counts.ts";
import { createRoleMemory, watchRoles } from "./watch-roles.ts";

const slowestRetryMs = 15_000;

/**
 * Drives the deployments of every chain this installation can pay on, until the signal. An outage of a
 * node or of the database delays rounds and nothing else; each chain waits for itself only, and what has a nonce does not
 * wait for what has none.
 */
export async function runRelay(services: RelayContext, signal: AbortSignal): Promise<void> {
  const chains = services.chains.filter(isDeployable);
  await Promise.all(chains.map((chain) => runChain(services, chain, signal)));
}

async function runChain(services: RelayContext, chain: Chain, signal: AbortSignal): Promise<void> {
  const periodMs = chain.local ? 200 : 2_000;
  const memory = createRelayMemory(periodMs);
  const roles = createRoleMemory();
  const rounds = {
    resubmit: () => resubmitRound(services, chain, memory, signal),
    confirm: () => confirmRound(services, chain, memory, signal),
    submit: () => submitRound(services, chain, memory, signal),
    roles: () => watchRoles(services, chain, roles),
    counts: () => watchCounts(services, chain, memory),
  };
  await Promise.all(
    Object.entries(rounds).map(([name, round]) =>
      repeat(round, periodMs, services.log.child({ chain: chain.name, loop: name }), signal),
    ),
  );
}

async function repeat(round: () => Promise<void>, periodMs: number, log: Logger, signal: AbortSignal): Promise<void> {
  const logOnce = new LogOnce(log);
  let failures = 0;
  while (!signal.aborted) {
    try {
      await round();
      if (failures > 0) log.info({ failures }, "relay works again");
      failures = 0;
    } catch (error) {
      failures += 1;
      logOnce.write("warn", causeOf(error), { failures, ...loggable(error) }, "relay loop failed");
    }
    const waitMs = backoffMs(failures + 1, { firstMs: periodMs, mostMs: slowestRetryMs });
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
  }
}
