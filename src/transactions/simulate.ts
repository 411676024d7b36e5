import type { Address, Hex } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { type Fees, freshFees } from "../relay/chain/fees.ts";
import { askMarket, dataFee, dataRoom } from "../relay/chain/market.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { calls, parseQuantity } from "../relay/chain/reads.ts";
import { explainRevert, isRefusal } from "../relay/chain/revert.ts";
import { NodeFault, type RpcResult } from "../rpc/batch.ts";
import type { Services } from "../services.ts";

export interface Call {
  from: Address;
  to: Address;
  data: Hex;
}

export interface Simulated {
  /** In the chain's words; null: it would be carried out. */
  refusal: string | null;
  gas: bigint;
  fees: Fees;
  /** What the data takes on the chain below, at most, at today's price. */
  dataWei: bigint;
}

/** What a transaction would cost; nothing of it was stored, signed or spent. */
export interface PlannedCost {
  gas: bigint;
  maxFeePerGasWei: bigint;
  /** At the fees of now: gas times the next block's base fee and tip, and what the data takes on the chain below. */
  costWei: bigint;
  /** What it could cost at most. */
  maxCostWei: bigint;
}

/**
 * Runs a call on one node, without a transaction.
 *
 * @throws ServiceError `service_unavailable` while no node answers.
 */
export async function simulate(services: Services, chain: Chain, { from, to, data }: Call): Promise<Simulated> {
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const { market, answers } = await askMarket(node, chain, [calls.estimate(from, to, data)]);
      return { ...readEstimate(answers[0]), fees: freshFees(chain, market), dataWei: dataFee(market, data) };
    }),
  );
}

/** @throws NodeFault when the node cannot simulate now: that says nothing of the call. */
export function readEstimate(answer: RpcResult | undefined): { refusal: string | null; gas: bigint } {
  if (answer && "error" in answer) {
    if (!isRefusal(answer.error)) throw new NodeFault("the node cannot simulate it now");
    return { refusal: explainRevert(answer.error), gas: 0n };
  }
  return { refusal: null, gas: parseQuantity(answer, "an estimate") };
}

export function costOf({ gas, fees, dataWei }: Simulated): PlannedCost {
  // Fresh fees double the base fee to leave room.
  const price = (fees.maxFeePerGas + fees.maxPriorityFeePerGas) / 2n;
  return {
    gas,
    maxFeePerGasWei: fees.maxFeePerGas,
    costWei: gas * price + dataWei,
    maxCostWei: ((gas * 12n) / 10n) * fees.maxFeePerGas + dataRoom * dataWei,
  };
}

/**
 * What a call from the wallet that pays on a chain would cost.
 *
 * @throws ServiceError `value_error` when the chain would refuse it, in its words: it is no fault of the input that we know of;
 *   `service_unavailable` while no node answers.
 */
export async function planCost(services: Services, chain: Chain, call: Omit<Call, "from">): Promise<PlannedCost> {
  const { address: from } = services.relay.account(chain);
  const simulated = await simulate(services, chain, { from, ...call });
  if (simulated.refusal === null) return costOf(simulated);
  throw new ServiceError("value_error", `the chain would refuse it: ${simulated.refusal}`);
}
