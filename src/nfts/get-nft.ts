import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";
import { contractColumns, fetchedAtMicros, tokenColumns } from "./columns.ts";
import { type ContractRecord, cachedBase, isPresent, type Nft, toContractRecord, toNft } from "./nft-record.ts";

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
  _caller: Caller,
  input: GetNftInput,
): Promise<Nft & { contractRecord: ContractRecord }> {
  const chain = findChain(services.chains, input.chain);
  const contract = toBytes(input.contract);
  const tokenId = String(input.tokenId);
  const row = await services.index.db
    .selectFrom("nft.contracts as c")
    .leftJoin("service.contract_metadata as cm", (join) =>
      join.on("cm.chain_id", "=", chain.id).onRef("cm.address", "=", "c.address"),
    )
    .leftJoin("nft.tokens as t", (join) =>
      join.on("t.chain_id", "=", chain.id).on("t.contract", "=", contract).on("t.token_id", "=", tokenId),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join.on("m.chain_id", "=", chain.id).on("m.contract", "=", contract).on("m.token_id", "=", tokenId),
    )
    .select([...tokenColumns, fetchedAtMicros, "m.metadata", ...contractColumns])
    .where("c.chain_id", "=", chain.id)
    .where("c.address", "=", contract)
    .executeTakeFirst();
  if (!row) throw new ServiceError("not_found", "no contract with NFTs is known at this address on this chain");
  if (!isPresent(row)) throw new ServiceError("not_found", "this contract has no such token");
  const contractRecord = toContractRecord(input.chain, row);
  return { ...toNft(input.chain, cachedBase(services.config), row, contractRecord), contractRecord };
}
