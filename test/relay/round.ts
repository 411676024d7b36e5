import type { Chain } from "../../src/chains.ts";
import { driveRound } from "../../src/relay/drive-round.ts";
import { pushRound } from "../../src/relay/push-round.ts";
import type { RelayMemory } from "../../src/relay/round-steps.ts";
import { settleRound } from "../../src/relay/settle-round.ts";
import type { Services } from "../../src/services.ts";

/** One look of a worker at everything under way on a chain: its rounds (src/relay/run-relay.ts), in a fixed order. */
export async function relayRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  await driveRound(services, chain, memory);
  await settleRound(services, chain, memory);
  await pushRound(services, chain, memory);
}
