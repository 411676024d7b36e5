import { LRUCache } from "lru-cache";
import { type Address, encodeFunctionData, toHex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { entryBound } from "../cache-bounds.ts";
import { findChain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { calls, parseBlock, parseHex, parseQuantity } from "../relay/chain/reads.ts";
import type { Services } from "../services.ts";
import { isOwnCollection } from "./public-sale.ts";

/** What a collection has sold and what of the money is still in it, all of one block. */
export interface Takings {
  block: bigint;
  balanceWei: bigint;
  minted: bigint;
  /** Tokens of the reserve that are not minted. */
  reserved: bigint;
}

/** Milliseconds that an answer is given again. */
const keptMs = 5_000;
const keptBy = new WeakMap<Services, LRUCache<string, Promise<Takings>>>();

/**
 * Reads what a collection of this installation took in, for its creator's pages. Of one block, since what was withdrawn is
 * a difference. All who ask within five seconds get one answer.
 *
 * @throws ServiceError `chain_not_supported`, `not_found` for any other address, `service_unavailable`.
 */
export async function getTakings(services: Services, input: { chain: string; collection: Address }): Promise<Takings> {
  const chain = findChain(services.chains, input.chain);
  const kept = keptBy.get(services) ?? new LRUCache<string, Promise<Takings>>({ ...entryBound(1_000), ttl: keptMs });
  keptBy.set(services, kept);
  const { collection } = input;
  const name = `${chain.id}:${collection}`;
  const known = kept.get(name);
  if (known) return await known;
  if (!(await isOwnCollection(services, chain, collection)))
    throw new ServiceError("not_found", "no collection of this installation stands there", { field: "collection" });
  const asking = askNode(chain, () =>
    services.relay.nodes(chain).first(async (node) => {
      const [latest] = await node.ask([calls.block("latest")]);
      const { number: block } = parseBlock(latest);
      const at = toHex(block);
      const view = (functionName: "totalSupply" | "reserveRemaining") => ({
        method: "eth_call",
        params: [{ to: collection, data: encodeFunctionData({ abi: collectionAbi, functionName }) }, at],
      });
      const questions = [
        { method: "eth_getBalance", params: [collection, at] },
        view("totalSupply"),
        view("reserveRemaining"),
      ];
      const [balance, minted, reserved] = await node.ask(questions);
      return {
        block,
        balanceWei: parseQuantity(balance, "a balance"),
        minted: BigInt(parseHex(minted, "a supply")),
        reserved: BigInt(parseHex(reserved, "a reserve")),
      };
    }),
  );
  kept.set(name, asking);
  asking.catch(() => kept.delete(name));
  return await asking;
}
