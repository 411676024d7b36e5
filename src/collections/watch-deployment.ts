import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "../auth/caller.ts";
import type { IntentState } from "../db/tables/relay.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";
import { type Deployment, getDeployment } from "./get-deployment.ts";

/** After these nothing changes any more. */
const endStates: readonly IntentState[] = ["finalized", "failed_onchain", "cancelled", "expired"];
const pollMs = 300;
const watchMs = 30 * 60_000;
/** Streams that one process keeps open, and how many of them for one account. */
const maxStreams = 500;
const maxStreamsOfAccount = 20;

/** Open streams of this process by account. A process that ends takes its streams with it. */
const open = new Map<string, number>();

/**
 * A deployment of the caller's account, now and after each change, until it has ended, half an hour has
 * passed, or nobody listens any more.
 *
 * @throws ServiceError `not_found`; `rate_limit_exceeded` with too many streams.
 */
export async function watchDeployment(
  services: Services,
  caller: Caller,
  id: string,
): Promise<AsyncGenerator<Deployment, void>> {
  const first = await getDeployment(services, caller, { id });
  const all = [...open.values()].reduce((sum, count) => sum + count, 0);
  if (all >= maxStreams || (open.get(caller.accountId) ?? 0) >= maxStreamsOfAccount)
    throw new ServiceError("rate_limit_exceeded", "too many open subscriptions", { retryAfterSeconds: 30 });
  return follow(services, caller, first);
}

async function* follow(services: Services, caller: Caller, first: Deployment): AsyncGenerator<Deployment, void> {
  count(caller, 1);
  try {
    const end = performance.now() + watchMs;
    let seen = first;
    yield seen;
    while (!endStates.includes(seen.state) && performance.now() < end) {
      await sleep(pollMs);
      const now = await getDeployment(services, caller, { id: first.id });
      if (
        now.state === seen.state &&
        now.holdReason === seen.holdReason &&
        now.transactionHash === seen.transactionHash
      )
        continue;
      seen = now;
      yield seen;
    }
  } finally {
    count(caller, -1);
  }
}

function count(caller: Caller, change: 1 | -1): void {
  const now = (open.get(caller.accountId) ?? 0) + change;
  if (now > 0) open.set(caller.accountId, now);
  else open.delete(caller.accountId);
}
