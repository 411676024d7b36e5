import { loggable } from "../relay/chain/node-failure.ts";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";
import { detectDeployments } from "./detect-deployments.ts";

const periods = { local: 500, elsewhere: 12_000 };
const retryMs = 60_000;

/** Looks for deployments that creators' own wallets made, on every chain, until the signal. */
export async function runDetection(services: Services, rounds: Rounds): Promise<void> {
  const run = async (chain: Services["chains"][number]) => {
    const pace = { periodMs: chain.local ? periods.local : periods.elsewhere, rests: true, retryMs };
    const log = services.log.child({ chain: chain.name });
    const failing = "looking for deployments failed";
    await rounds.repeat(() => detectDeployments(services, chain), pace, { log, failing, fields: loggable });
  };
  await Promise.all(services.chains.map(run));
}
