import type { Chain } from "../../src/chains.ts";
import { confirmRound } from "../../src/relay/track/confirm-loop.ts";
import type { RelayMemory } from "../../src/relay/track/loop-steps.ts";
import { resubmitRound } from "../../src/relay/track/resubmit-loop.ts";
import { submitRound } from "../../src/relay/track/submit-loop.ts";
import type { Services } from "../../src/services.ts";

/** One look of a worker at everything under way on a chain: its rounds (src/relay/track/run-relay.ts), in a fixed order. */
export async function relayRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  await resubmitRound(services, chain, memory);
  await confirmRound(services, chain, memory);
  await submitRound(services, chain, memory);
}
