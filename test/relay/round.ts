import type { Chain } from "../../src/chains.ts";
import { settleRound } from "../../src/relay/track/confirm-loop.ts";
import type { RelayMemory } from "../../src/relay/track/loop-steps.ts";
import { driveRound } from "../../src/relay/track/resubmit-loop.ts";
import { pushRound } from "../../src/relay/track/submit-loop.ts";
import type { Services } from "../../src/services.ts";

/** One look of a worker at everything under way on a chain: its rounds (src/relay/track/run-relay.ts), in a fixed order. */
export async function relayRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  await driveRound(services, chain, memory);
  await settleRound(services, chain, memory);
  await pushRound(services, chain, memory);
}
