import type { Chain } from "../../src/chains.ts";
import { pushRound } from "../../src/relay/push-round.ts";
import type { RelayMemory } from "../../src/relay/round-steps.ts";
import { watchRound } from "../../src/relay/watch-round.ts";
import type { Services } from "../../src/services.ts";

/** One look of a worker at everything under way on a chain: its two rounds (src/relay/run-relay.ts), in a fixed order. */
export async function relayRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  await watchRound(services, chain, memory);
  await pushRound(services, chain, memory);
}
