import { type Address, encodeFunctionData, toHex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { findChain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../rpc/nodes.ts";
import { calls, parseBlock, parseHex, parseQuantity } from "../rpc/reads.ts";
import type { Services } from "../services.ts";
import { KeptReadings, type Reader } from "./kept-readings.ts";
import { isOwnCollection } from "./public-sale.ts";

/** What a collection has sold and what of the money is still in it, all of one block. */
interface Takings {
  block: bigint;
  balanceWei: bigint;
  minted: bigint;
  /** Tokens of the reserve that are not minted. */
  reserved: bigint;
}

/** Of the node, the chain's id of both requests among them. */
export const callsOfTakings = 6;
const times = { keptMs: 5_000, mostKeptMs: 60_000, oldestMs: 3_600_000 };
const rules = {
  ...times,
  isSame: (one: Takings, other: Takings) =>
    one.balanceWei === other.balanceWei && one.minted === other.minted && one.reserved === other.reserved,
};
const keptBy = new WeakMap<Services, KeptReadings<Takings>>();

/**
 * Reads what a collection of this installation took in, for its creator's pages. Of one block, since what was withdrawn is
 * a difference. An answer is five seconds old, and up to a minute where it does not change.
 *
 * @param reader whose `admit` is called before the node is asked.
 * @throws ServiceError `chain_not_supported`, `not_found` for any other address, `service_unavailable`.
 */
export async function getTakings(
  services: Services,
  input: { chain: string; collection: Address },
  { owner, admit }: Reader,
): Promise<Takings> {
  const chain = findChain(services.chains, input.chain);
  const kept = keptBy.get(services) ?? new KeptReadings(rules);
  keptBy.set(services, kept);
  const { collection } = input;
  if (!(await isOwnCollection(services, chain, collection)))
    throw new ServiceError("not_found", "no collection of this installation stands there", { field: "collection" });
  const read = async () => {
    await services.readerCalls.turn(chain, owner, callsOfTakings);
    return await services.relay.nodes(chain).first(async (node) => {
      const [latest] = await node.ask([calls.block("latest")]);
      const { number: block } = parseBlock(latest);
      const view = (functionName: "totalSupply" | "reserveRemaining") =>
        calls.call(collection, encodeFunctionData({ abi: collectionAbi, functionName }), block);
      const [balance, minted, reserved] = await node.ask([
        { method: "eth_getBalance", params: [collection, toHex(block)] },
        view("totalSupply"),
        view("reserveRemaining"),
      ]);
      return {
        block,
        balanceWei: parseQuantity(balance, "a balance"),
        minted: BigInt(parseHex(minted, "a supply")),
        reserved: BigInt(parseHex(reserved, "a reserve")),
      };
    });
  };
  return await kept.get(`${chain.id}:${collection}`, {
    admit: () => admit(callsOfTakings),
    read: () => askNode(chain, read),
  });
}

/** Of the node, the chain's id among them. */
export const callsOfBalance = 2;
const balanceRules = { ...times, isSame: (one: bigint, other: bigint) => one === other };
const balancesBy = new WeakMap<Services, KeptReadings<bigint>>();

/**
 * What an address holds in the chain's coin, for the pages of an operator or a creator. An answer is five
 * seconds old, and up to a minute where it does not change.
 *
 * @param reader whose `admit` is called before the node is asked.
 * @returns wei.
 * @throws ServiceError `chain_not_supported`, `service_unavailable`; what `admit` throws.
 */
export async function getShownBalance(
  services: Services,
  input: { chain: string; address: Address },
  { owner, admit }: Reader,
): Promise<bigint> {
  const chain = findChain(services.chains, input.chain);
  const kept = balancesBy.get(services) ?? new KeptReadings(balanceRules);
  balancesBy.set(services, kept);
  const read = async () =>
    parseQuantity(await services.readerCalls.ask(chain, calls.balance(input.address), owner), "a balance");
  return await kept.get(`${chain.id}:${input.address}`, {
    admit: () => admit(callsOfBalance),
    read: () => askNode(chain, read),
  });
}
