import { LRUCache } from "lru-cache";
import type { Address } from "viem";
import { entryBound } from "../cache-bounds.ts";
import { type Chain, findChain } from "../chains.ts";
import { isDeployable } from "../relay/chain/deployable.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { NodeFault } from "../rpc/batch.ts";
import type { Services } from "../services.ts";
import { isOwnCollection } from "./public-sale.ts";

/** Milliseconds that an answer is given again. */
const keptMs = 5_000;
const keptBy = new WeakMap<Services, LRUCache<string, Promise<bigint>>>();

/**
 * What an address holds in the chain's coin, for the pages of an operator or a creator. All who ask within five seconds
 * get one answer.
 *
 * @param admit is called before the node is asked for an address that is not of this installation.
 * @returns wei.
 * @throws ServiceError `chain_not_supported`, `service_unavailable`; what `admit` throws.
 */
export async function getShownBalance(
  services: Services,
  input: { chain: string; address: Address },
  admit: () => Promise<void>,
): Promise<bigint> {
  const chain = findChain(services.chains, input.chain);
  const kept = keptBy.get(services) ?? new LRUCache<string, Promise<bigint>>({ ...entryBound(1_000), ttl: keptMs });
  keptBy.set(services, kept);
  const name = `${chain.id}:${input.address}`;
  const known = kept.get(name);
  if (known) return await known;
  if (!isOwnWallet(services, chain, input.address) && !(await isOwnCollection(services, chain, input.address)))
    await admit();
  const asking = askNode(chain, async () => {
    const call = { method: "eth_getBalance", params: [input.address, "latest"] };
    const [answer] = await services.relay.nodes(chain).first((node) => node.ask([call]));
    const value = answer && "result" in answer ? answer.result : null;
    if (typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value)) return BigInt(value);
    throw new NodeFault("the node names no balance");
  });
  kept.set(name, asking);
  asking.catch(() => kept.delete(name));
  return await asking;
}

function isOwnWallet({ relay }: Services, chain: Chain, address: Address): boolean {
  try {
    return isDeployable(chain) && relay.signers(chain).some((signer) => signer.address.toLowerCase() === address);
  } catch {
    // Where keys cannot be read, none is known to be of this installation.
    return false;
  }
}
