import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../auth/caller.ts";
import { endableStream } from "../endable-stream.ts";
import { endedStates } from "../relay/store/lifecycle.ts";
import type { Services } from "../services.ts";
import { type Deployment, type DeploymentState, getDeployment } from "./get-deployment.ts";

const pollMs = 300;
const watchMs = 30 * 60_000;

/**
 * A deployment of the caller's account, now and after each change, until it has ended, half an hour has
 * passed, or nobody listens any more.
 *
 * @throws ServiceError `not_found`; with too many streams what `StreamPermits` throws.
 */
export async function watchDeployment(
  services: Services,
  caller: Caller,
  id: string,
): Promise<AsyncGenerator<Deployment, void>> {
  const first = await getDeployment(services, caller, { id });
  const release = services.auth.streams.take(caller.accountId);
  return endableStream((signal) => follow(services, caller, first, signal), release);
}

async function* follow(
  services: Services,
  caller: Caller,
  first: Deployment,
  signal: AbortSignal,
): AsyncGenerator<Deployment, void> {
  const end = performance.now() + watchMs;
  let seen = first;
  yield seen;
  while (!(endedStates as readonly DeploymentState[]).includes(seen.state) && performance.now() < end) {
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const now = await getDeployment(services, caller, { id: first.id });
    if (now.state === seen.state && now.holdReason === seen.holdReason && now.transactionHash === seen.transactionHash)
      continue;
    seen = now;
    yield seen;
  }
}
