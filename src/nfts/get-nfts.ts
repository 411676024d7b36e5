import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors.ts";
import type { Services } from "../services.ts";
import { fetchedAtMicros, listedContractColumns, listedMetadata, listedTokenColumns } from "./columns.ts";
import {
  cachedBase,
  contractRecordOf,
  isPresent,
  type Nft,
  type NftParts,
  type OptionalContractRow,
  type TokenRow,
  toNft,
} from "./nft-record.ts";
import { maxPageSize } from "./page.ts";

export interface NftKey {
  chain: string;
  /** Any letter case. */
  contract: string;
  tokenId: bigint;
}

/**
 * Many tokens at once: one result for each key, in the keys' order; null for a token the index has
 * never seen. Texts are bounded as in lists.
 *
 * @throws ServiceError `value_error` for more keys than a page has.
 */
export async function getNfts(
  services: Services,
  _caller: Caller,
  keys: readonly NftKey[],
  parts: NftParts,
): Promise<(Nft | null)[]> {
  if (keys.length > maxPageSize) {
    throw new ServiceError("value_error", `at most ${maxPageSize} tokens at once`, { field: "keys" });
  }
  const chainIds = keys.map(({ chain }) => findChain(services.chains, chain).id);
  const rows = await services.index.db
    .selectFrom(
      sql<{ chain_id: number; contract: Buffer; token_id: string; place: bigint }>`(SELECT * FROM unnest(
        ${chainIds}::integer[], ${keys.map(({ contract }) => toBytes(contract))}::bytea[],
        ${keys.map(({ tokenId }) => String(tokenId))}::numeric[])
        WITH ORDINALITY AS given (chain_id, contract, token_id, place))`.as("k"),
    )
    .innerJoin("nft.tokens as t", (join) =>
      join
        .onRef("t.chain_id", "=", "k.chain_id")
        .onRef("t.contract", "=", "k.contract")
        .onRef("t.token_id", "=", "k.token_id"),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join
        .onRef("m.chain_id", "=", "k.chain_id")
        .onRef("m.contract", "=", "k.contract")
        .onRef("m.token_id", "=", "k.token_id"),
    )
    .select(["k.place", ...listedTokenColumns, fetchedAtMicros])
    .$if(parts.metadata, (query) => query.select(listedMetadata))
    .$if(parts.contract, (query) =>
      query
        .leftJoin("nft.contracts as c", (join) =>
          join.onRef("c.chain_id", "=", "k.chain_id").onRef("c.address", "=", "k.contract"),
        )
        .leftJoin("service.contract_metadata as cm", (join) =>
          join.onRef("cm.chain_id", "=", "k.chain_id").onRef("cm.address", "=", "k.contract"),
        )
        .select(listedContractColumns),
    )
    .execute();
  const found = new Map<number, TokenRow & OptionalContractRow>(rows.map((row) => [Number(row.place) - 1, row]));
  return keys.map(({ chain }, index) => {
    const row = found.get(index);
    if (!row || !isPresent(row)) return null;
    return toNft(chain, cachedBase(services.config), row, contractRecordOf(chain, row));
  });
}
