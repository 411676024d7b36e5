import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import type { Services } from "../services.ts";
import { factsOf } from "./item.ts";
import { type ContractRecord, type Nft, needsOfParts, toContractRecord, toNft } from "./nft-record.ts";
import { selectNft } from "./select-one.ts";

export interface GetNftInput {
  chain: string;
  /** Any letter case. */
  contract: string;
  tokenId: bigint;
}

/**
 * One token with its contract. Burned tokens are found too; they have no owner.
 *
 * @throws ServiceError `not_found` for a contract or token the index has never seen.
 */
export async function getNft(
  services: Services,
  caller: Caller,
  input: GetNftInput,
): Promise<Nft & { contractRecord: ContractRecord }> {
  const chainId = findChain(services.chains, input.chain).id;
  const needs = needsOfParts({ metadata: true, contract: true });
  const { items, layout, contracts } = await selectNft(services, { ...input, chainId }, needs, "pool");
  services.demand.token(caller, chainId, input.contract, input.tokenId);
  const facts = factsOf(services.config, input.chain, false);
  const contractRecord = toContractRecord(facts, contracts.parts(input.contract.slice(2).toLowerCase()));
  return { ...toNft(facts, layout, items.item(0), contractRecord), contractRecord };
}
