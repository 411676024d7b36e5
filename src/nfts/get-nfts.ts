import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
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
import { type TokenSource, withheldTokenOf } from "./withheld-token.ts";

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
  const read = async (wanted: readonly NftKey[], tokens: RawBuilder<TokenSource>) =>
    await services.index.db
      .selectFrom(
        sql<{ chain_id: number; contract: Buffer; token_id: string; place: bigint }>`(SELECT * FROM unnest(
        ${wanted.map(({ chain }) => findChain(services.chains, chain).id)}::integer[], ${wanted.map(({ contract }) => toBytes(contract))}::bytea[],
        ${wanted.map(({ tokenId }) => String(tokenId))}::numeric[])
        WITH ORDINALITY AS given (chain_id, contract, token_id, place))`.as("k"),
      )
      .innerJoinLateral(tokens.as("t"), (join) => join.onTrue())
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
  const nfts: (Nft | null)[] = keys.map(() => null);
  const fill = async (places: readonly number[], tokens: RawBuilder<TokenSource>) => {
    const wanted = places.flatMap((place) => keys[place] ?? []);
    const rows: (TokenRow & OptionalContractRow & { place: bigint })[] = await read(wanted, tokens);
    for (const row of rows) {
      const place = places[Number(row.place) - 1];
      const key = place === undefined ? undefined : keys[place];
      if (place === undefined || !key || !isPresent(row)) continue;
      services.demand.token(findChain(services.chains, key.chain).id, key.contract, key.tokenId);
      nfts[place] = toNft(key.chain, cachedBase(services.config), row, contractRecordOf(key.chain, row));
    }
  };
  await fill([...keys.keys()], listedTokens);
  const missing = [...keys.keys()].filter((place) => nfts[place] === null);
  if (missing.length > 0) await fill(missing, withheldTokens);
  return nfts;
}

const listedTokens = sql<TokenSource>`(SELECT x.* FROM nft.tokens x
  WHERE x.chain_id = k.chain_id AND x.contract = k.contract AND x.token_id = k.token_id)`;
const withheldTokens = sql<TokenSource>`${sql.raw(withheldTokenOf("k"))}`;
