import type { Address, Hex } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { freshFees } from "../relay/chain/fees.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { calls, parseMarket, parseQuantity } from "../relay/chain/reads.ts";
import { explainRevert, isRefusal } from "../relay/chain/revert.ts";
import type { Services } from "../services.ts";

/** What a transaction of this service's wallet would cost. */
export interface PlannedCost {
  gas: bigint;
  maxFeePerGasWei: bigint;
  /** At the fees of now: gas times the next block's base fee and tip. */
  costWei: bigint;
  /** What it could cost at most. */
  maxCostWei: bigint;
}

/**
 * Simulates a call from the wallet that pays on a chain.
 *
 * @throws ServiceError `value_error` when the chain would refuse it; `service_unavailable` while the node does not answer.
 */
export async function planCost(services: Services, chain: Chain, to: Address, data: Hex): Promise<PlannedCost> {
  const { address } = services.relay.account(chain);
  const { gas, fees } = await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [estimate, ...market] = await node.ask([calls.estimate(address, to, data), ...calls.market()]);
      if (estimate && "error" in estimate && isRefusal(estimate.error)) throw refusal(estimate.error);
      return { gas: parseQuantity(estimate, "an estimate"), fees: freshFees(chain, parseMarket(market)) };
    }),
  );
  // Fresh fees double the base fee to leave room.
  const price = (fees.maxFeePerGas + fees.maxPriorityFeePerGas) / 2n;
  return {
    gas,
    maxFeePerGasWei: fees.maxFeePerGas,
    costWei: gas * price,
    maxCostWei: ((gas * 12n) / 10n) * fees.maxFeePerGas,
  };
}

/** Not a fault of the input that we know of: what the chain says is all there is to say. */
function refusal(error: { message: string; data?: unknown }): ServiceError {
  return new ServiceError("value_error", `the chain would refuse it: ${explainRevert(error)}`);
}
