import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { NftViews } from "../db/tables/nft.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { contractColumns, fetchedAtMicros, tokenColumns } from "./columns.ts";
import { type ContractRecord, cachedBase, isPresent, type Nft, toContractRecord, toNft } from "./nft-record.ts";
import { type TokenSource, withheldTokenOf } from "./withheld-token.ts";

type ContractSource = Pick<NftViews["nft.contracts"], "address" | "standard">;

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
  const read = async (contractSource: RawBuilder<ContractSource>, tokenSource: RawBuilder<TokenSource>) =>
    await services.index.db
      .selectFrom(contractSource.as("c"))
      .leftJoin("service.contract_metadata as cm", (join) =>
        join.on("cm.chain_id", "=", chain.id).onRef("cm.address", "=", "c.address"),
      )
      .leftJoin(tokenSource.as("t"), (join) => join.onTrue())
      .leftJoin("service.token_metadata as m", (join) =>
        join.on("m.chain_id", "=", chain.id).on("m.contract", "=", contract).on("m.token_id", "=", tokenId),
      )
      .select([...tokenColumns, fetchedAtMicros, "m.metadata", ...contractColumns])
      .executeTakeFirst();
  const listed = await read(
    sql`(SELECT address, standard FROM nft.contracts WHERE chain_id = ${chain.id} AND address = ${contract})`,
    sql`(SELECT * FROM nft.tokens WHERE chain_id = ${chain.id} AND contract = ${contract} AND token_id = ${tokenId})`,
  );
  const key = sql`(SELECT ${chain.id}::integer AS chain_id, ${contract}::bytea AS contract, ${tokenId}::numeric AS token_id)`;
  const row =
    listed && isPresent(listed)
      ? listed
      : await read(
          sql`(SELECT ${contract}::bytea AS address, 'ERC721'::text AS standard)`,
          sql`(SELECT w.* FROM ${key} k CROSS JOIN LATERAL ${sql.raw(withheldTokenOf("k"))} w)`,
        );
  if (!row || !isPresent(row)) {
    const what = listed
      ? "this contract has no such token"
      : "no contract with NFTs is known at this address on this chain";
    throw new ServiceError("not_found", what);
  }
  services.demand.token(chain.id, input.contract, input.tokenId);
  const contractRecord = toContractRecord(input.chain, row);
  return { ...toNft(input.chain, cachedBase(services.config), row, contractRecord), contractRecord };
}
