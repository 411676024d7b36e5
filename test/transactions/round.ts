import type { Chain } from "../../src/chains.ts";
import type { Services } from "../../src/services.ts";
import { confirmRound, resubmitRound } from "../../src/transactions/track/follow-loop.ts";
import type { RelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { submitRound } from "../../src/transactions/track/submit-loop.ts";

/** One look of a worker at everything under way on a chain: its rounds (src/transactions/track/run-relay.ts), in a fixed order. */
export async function relayRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  await resubmitRound(services, chain, memory);
  await confirmRound(services, chain, memory);
  await submitRound(services, chain, memory);
}
