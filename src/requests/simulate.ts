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
  /** The chain's reason; null: the call would succeed. */
  refusal: string | null;
  gas: bigint;
  fees: Fees;
  /** The maximum L1 data fee, at today's price. */
  dataWei: bigint;
}

/** What a transaction would cost; nothing was stored, signed or spent for it. */
export interface PlannedCost {
  gas: bigint;
  maxFeePerGasWei: bigint;
  /** At today's fees: gas times the next block's base fee and tip, plus the L1 data fee. */
  costWei: bigint;
  /** The most that it could cost. */
  maxCostWei: bigint;
}

/**
 * Runs a call on one node, without a transaction. Simultaneous calls share one request to it; a call that the node
 * cannot simulate in that batch is retried alone, since it may be at fault itself.
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

/** @returns null for calls that the node cannot simulate now. */
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

/** @throws NodeFault when the node cannot simulate now, which says nothing about the call. */
export function readEstimate(answer: RpcResult | undefined): { refusal: string | null; gas: bigint } {
  if (answer && "error" in answer) {
    if (!isRefusal(answer.error)) throw new NodeFault("the node cannot simulate it now");
    return { refusal: explainRevert(answer.error), gas: 0n };
  }
  return { refusal: null, gas: parseQuantity(answer, "an estimate") };
}

export function costOf({ gas, fees, dataWei }: Simulated): PlannedCost {
  // Fresh fees include twice the base fee as a margin.
  const price = (fees.maxFeePerGas + fees.maxPriorityFeePerGas) / 2n;
  return {
    gas,
    maxFeePerGasWei: fees.maxFeePerGas,
    costWei: gas * price + dataWei,
    maxCostWei: ((gas * 12n) / 10n) * fees.maxFeePerGas + dataRoom * dataWei,
  };
}

/**
 * What a call from a chain's relayer wallet would cost.
 *
 * @throws ServiceError `value_error` with the chain's reason when the chain would refuse the call: no known fault of
 *   the input; `service_unavailable` while no node answers.
 */
export async function planCost(services: Services, chain: Chain, call: Omit<Call, "from">): Promise<PlannedCost> {
  const { address: from } = services.relay.account(chain);
  const simulated = await simulate(services, chain, { from, ...call });
  if (simulated.refusal === null) return costOf(simulated);
  throw new ServiceError("value_error", `the chain would refuse it: ${simulated.refusal}`);
}
