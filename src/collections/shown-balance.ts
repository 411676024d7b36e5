import type { Address } from "viem";
import { findChain } from "../chains.ts";
import { askNode } from "../rpc/nodes.ts";
import { calls, parseQuantity } from "../rpc/reads.ts";
import type { Services } from "../services.ts";
import { KeptReadings, type Reader } from "./kept-readings.ts";

/** Node calls, including the chain id. */
export const callsOfBalance = 2;
const rules = {
  ...{ keptMs: 5_000, mostKeptMs: 60_000, oldestMs: 3_600_000 },
  isSame: (one: bigint, other: bigint) => one === other,
};
const keptBy = new WeakMap<Services, KeptReadings<bigint>>();

/**
 * An address's balance in the chain's coin, for the operator's pages. It may be five seconds old, and up to a minute
 * while it does not change.
 *
 * @param reader whose `admit` is called before the node is asked.
 * @returns wei.
 * @throws ServiceError `chain_not_supported`, `service_unavailable`; any error of `admit`.
 */
export async function getShownBalance(
  services: Services,
  input: { chain: string; address: Address },
  { owner, admit }: Reader,
): Promise<bigint> {
  const chain = findChain(services.chains, input.chain);
  const kept = keptBy.get(services) ?? new KeptReadings(rules);
  keptBy.set(services, kept);
  const read = async () =>
    parseQuantity(await services.readerCalls.ask(chain, calls.balance(input.address), owner), "a balance");
  return await kept.get(`${chain.id}:${input.address}`, {
    admit: () => admit(callsOfBalance),
    read: () => askNode(chain, read),
  });
}
