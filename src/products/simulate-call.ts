import type { Address, Hex } from "viem";
import type { Chain } from "../chains.ts";
import { type Fees, freshFees } from "../relay/chain/fees.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { calls, parseFeeHistory, parseQuantity } from "../relay/chain/reads.ts";
import { explainRevert } from "../relay/chain/revert.ts";
import { NodeFault } from "../rpc/batch.ts";
import type { Services } from "../services.ts";

export interface SimulatedCall {
  to: Address;
  data: Hex;
}

/** The operator's refusal of an intent's name that it has seen: then the request is done, and finds that out by itself. */
const isDone = /^IntentDone\b/;
/** Codes by which nodes say that they are busy, not what they think of the call. */
const busyCodes = new Set([-32_005, -32_016, -32_029, 429]);

/**
 * Runs a call of the operator as its transaction would, without one.
 *
 * @returns why it would be refused; null when it would not, or was done already.
 * @throws ServiceError `service_unavailable` while no endpoint answers.
 */
export async function simulateCall(
  services: Services,
  chain: Chain,
  { to, data }: SimulatedCall,
): Promise<{ refusal: string | null; gas: bigint; fees: Fees }> {
  const [sender] = await services.relay.operating(chain);
  // Without a wallet that may send it there is nothing to ask: the request waits for one.
  const from = sender ?? services.relay.account(chain).address;
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [history, estimate] = await node.ask([calls.feeHistory(), calls.estimate(from, to, data)]);
      const fees = freshFees(chain, parseFeeHistory(history));
      if (estimate && "error" in estimate) {
        if (busyCodes.has(estimate.error.code)) throw new NodeFault("the node is too busy to simulate");
        const refusal = explainRevert(estimate.error);
        return { refusal: isDone.test(refusal) || !sender ? null : refusal, gas: 0n, fees };
      }
      return { refusal: null, gas: parseQuantity(estimate, "an estimate"), fees };
    }),
  );
}
