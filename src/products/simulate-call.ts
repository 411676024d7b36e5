import { type Address, encodeFunctionData, type Hex } from "viem";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { calls, parseHex } from "../relay/chain/reads.ts";
import type { Node } from "../relay/chain/rpc-nodes.ts";
import { NodeFault, type RpcCall } from "../rpc/batch.ts";
import type { Services } from "../services.ts";
import { relayerRole } from "../signing/rules.ts";
import { readEstimate, type Simulated, simulate } from "../transactions/simulate.ts";

export interface SimulatedCall {
  to: Address;
  data: Hex;
  /** The name under which the operator carries it out once. */
  intent: Hex;
}

/** Words that the operator has for a refusal of every call, and that any contract which is called may have too. */
const soundsClosed = /^(OperatorPaused|MissingRole)\b/;

/**
 * Runs a call of the operator as its transaction would, without one. A refusal is final for the client, so as many
 * endpoints as the chain's quorum have to agree on it.
 *
 * @returns why it would be refused; null when it would not, or was done already.
 * @throws ServiceError `service_unavailable` while too few endpoints answer, or while the operator refuses every call.
 */
export async function simulateCall(
  services: Services,
  chain: Chain,
  { to, data, intent }: SimulatedCall,
): Promise<Simulated> {
  const [sender] = await services.relay.operating(chain);
  // Without a wallet that may send it there is nothing to ask: the request waits for one.
  const from = sender ?? services.relay.account(chain).address;
  const simulated = await simulate(services, chain, { from, to, data });
  if (simulated.refusal === null || !sender || (await isDone(services, chain, to, intent)))
    return { ...simulated, refusal: null };
  const answers = await askNode(chain, async () => [
    simulated,
    ...(await askOthers(services, chain, calls.estimate(from, to, data))),
  ]);
  const dissent = answers.find(({ refusal }) => refusal === null);
  if (dissent) return { ...simulated, gas: dissent.gas, refusal: null };
  if (answers.some(({ refusal }) => soundsClosed.test(refusal ?? "")) && (await isClosed(services, chain, to, sender)))
    throw new ServiceError("service_unavailable", "the operator of product contracts takes no requests now", {
      retryAfterSeconds: 10,
    });
  return simulated;
}

/**
 * Whether the operator has carried the request out: then it finds that out by itself. The words of a refusal say nothing of
 * it, as any contract that is called may choose them. Asked of the pending block, because nodes simulate on their mempool, where
 * a transaction may wait whose rows were lost; a node that has no pending block is asked of its newest.
 */
async function isDone(services: Services, chain: Chain, operator: Address, intent: Hex): Promise<boolean> {
  const data = encodeFunctionData({ abi: productOperatorAbi, functionName: "isIntentDone", args: [intent] });
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [pending, latest] = await node.ask([
        calls.call(operator, data, "pending"),
        calls.call(operator, data, "latest"),
      ]);
      return BigInt(parseHex(pending && "result" in pending ? pending : latest, "an answer")) === 1n;
    }),
  );
}

/**
 * Whether the operator refuses every call of the service now: a matter of its operator, not of the request. It is asked itself,
 * for the words of a refusal may be those of a contract that was called.
 */
async function isClosed(services: Services, chain: Chain, operator: Address, sender: Address): Promise<boolean> {
  const abi = productOperatorAbi;
  const role = { abi, functionName: "hasRole", args: [relayerRole, sender] } as const;
  const questions = [encodeFunctionData({ abi, functionName: "paused" }), encodeFunctionData(role)].map((data) =>
    calls.call(operator, data, "latest"),
  );
  return await askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [paused, hasRole] = (await node.ask(questions)).map((answer) => BigInt(parseHex(answer, "an answer")));
      return paused === 1n || hasRole === 0n;
    }),
  );
}

/**
 * What all endpoints say of a call that one of them refuses; nothing where that one's word is enough.
 *
 * @throws NodeFault when too few of them answer to call it refused.
 */
async function askOthers(services: Services, chain: Chain, estimate: RpcCall) {
  const nodes = services.relay.nodes(chain);
  const needed = nodes.needed(chain.relay.quorum);
  if (needed <= 1) return [];
  const ask = async (node: Node) => {
    const [answer] = await node.ask([estimate]);
    return readEstimate(answer);
  };
  const answers = await Promise.allSettled((await nodes.all()).map(ask));
  const heard = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  if (heard.length < needed && !heard.some(({ refusal }) => refusal === null))
    throw new NodeFault("too few endpoints answer to call it refused");
  return heard;
}
