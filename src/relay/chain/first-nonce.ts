import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { NodeFault } from "../../rpc/batch.ts";
import type { RelayContext } from "./context.ts";
import { calls, parseQuantity } from "./reads.ts";
import type { Node } from "./rpc-nodes.ts";

/**
 * Whether a wallet may begin at `count`: every endpoint that answers says twice that the wallet has sent so many
 * transactions. The wallet's counter goes on from there without asking again, and one count too high would be a gap behind
 * which nothing is ever mined.
 */
export async function isFirstNonce(
  services: RelayContext,
  chain: Chain,
  wallet: Address,
  count: bigint,
): Promise<boolean> {
  const nodes = await services.relay.nodes(chain).all();
  const answers = await Promise.all(nodes.flatMap((node) => [countOf(node, wallet), countOf(node, wallet)]));
  const counts = answers.filter((answer) => answer !== null);
  return counts.length > 0 && counts.every((answer) => answer === count);
}

/** Two requests, not two calls of one: an answer may be spoilt as a whole. */
async function countOf(node: Node, wallet: Address): Promise<bigint | null> {
  try {
    const [answer] = await node.ask([calls.count(wallet, "latest")]);
    return parseQuantity(answer, "a count");
  } catch (error) {
    if (error instanceof NodeFault) return null;
    throw error;
  }
}
