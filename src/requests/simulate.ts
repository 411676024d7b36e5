import type { Address, Hex } from "viem";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { NodeFault, type RpcResult } from "../rpc/endpoint.ts";
import { askNode, type Node } from "../rpc/nodes.ts";
import { calls, parseQuantity } from "../rpc/reads.ts";
import type { Services } from "../services.ts";
import { type Fees, freshFees } from "../transactions/chain/fees.ts";
import { askMarket, dataFee, dataRoom } from "../transactions/chain/market.ts";
import { explainRevert, isRefusal } from "../transactions/chain/request-call.ts";
import { batched } from "../transactions/store/batch.ts";

interface Call {
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
 * Runs a call on one node, without a transaction. Calls that come together are one request to it, and what a node cannot
 * simulate of them is asked for alone: it may be the call's own fault.
 *
 * @throws ServiceError `service_unavailable` while no node answers.
 */
export async function simulate(services: Services, chain: Chain, call: Call): Promise<Simulated> {
  const simulated = await simulateTogether(services, String(chain.id), { chain, call });
  if (simulated) return simulated;
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [alone] = await readSimulations(node, chain, [call]);
      if (!alone) throw new NodeFault("the node cannot simulate it now");
      return alone;
    }),
  );
}

const simulateTogether = batched(
  async (services: Services, asked: readonly { chain: Chain; call: Call }[]) => {
    const [first] = asked;
    if (!first) return [];
    const { chain } = first;
    const all = asked.map(({ call }) => call);
    return await askNode(chain, () =>
      services.relay.nodes(chain).first(async (node) => {
        const simulated = await readSimulations(node, chain, all);
        if (simulated.every((one) => one === null)) throw new NodeFault("the node cannot simulate now");
        return simulated;
      }),
    );
  },
  { most: 16, retryIndividually: false },
);

/** @returns null for what the node cannot simulate now. */
async function readSimulations(node: Node, chain: Chain, asked: readonly Call[]): Promise<(Simulated | null)[]> {
  const estimates = asked.map(({ from, to, data }) => calls.estimate(from, to, data));
  const { market, answers } = await askMarket(node, chain, estimates);
  const fees = freshFees(chain, market);
  return asked.map(({ data }, index) => {
    const answer = answers[index];
    if (answer && "error" in answer && !isRefusal(answer.error)) return null;
    return { ...readEstimate(answer), fees, dataWei: dataFee(market, data) };
  });
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
