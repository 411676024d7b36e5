import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { NodeFault } from "../../rpc/batch.ts";
import { relayerRole } from "../../signing/rules.ts";
import type { RelayContext } from "./context.ts";
import { readRoles } from "./roles.ts";

/** Whether a wallet had no relayer role of a factory or operator at the end of a block; false where no endpoint has that block's state any more. */
export async function lackedRole(
  services: RelayContext,
  chain: Chain,
  contract: Address,
  wallet: Address,
  blockHash: Hash,
): Promise<boolean> {
  const nodes = services.relay.nodes(chain);
  try {
    return (await readRoles(nodes, contract, relayerRole, [wallet], { blockHash }))[0] === false;
  } catch (error) {
    if (error instanceof NodeFault) return false;
    throw error;
  }
}
