import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { withheldTokenOf } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { factsOf } from "./item.ts";
import {
  type ContractRecord,
  contractJoins,
  type Nft,
  type NftParts,
  type NftRow,
  needsOfParts,
  nftColumns,
  nftReader,
  toContractRecord,
  toNft,
} from "./nft-record.ts";
import { maxPageSize } from "./page.ts";
import { selectNft } from "./select-one.ts";

export interface NftKey {
  chain: string;
  /** Any letter case. */
  contract: string;
  tokenId: bigint;
}

/**
 * One token with its contract. Burned tokens are included; they have no owner.
 *
 * @throws ServiceError `not_found` for a contract or token the index has never seen.
 */
export async function getNft(
  services: Services,
  caller: Caller,
  input: NftKey,
): Promise<Nft & { contractRecord: ContractRecord }> {
  const chainId = findChain(services.chains, input.chain).id;
  const needs = needsOfParts({ metadata: true, contract: true });
  const { items, layout, contracts } = await selectNft(services, { ...input, chainId }, needs, "pool");
  services.demand.token(caller, chainId, input.contract, input.tokenId);
  const facts = factsOf(services.config, input.chain, false);
  const contractRecord = toContractRecord(facts, contracts.parts(input.contract.slice(2).toLowerCase()));
  return { ...toNft(facts, layout, items.item(0), contractRecord), contractRecord };
}

/**
 * Many tokens at once: one result for each key, in the keys' order; null for a token the index has never seen. Texts
 * are bounded as in lists.
 *
 * @throws ServiceError `value_error` for more keys than a page has.
 */
export async function getNfts(
  services: Services,
  caller: Caller,
  keys: readonly NftKey[],
  parts: NftParts,
): Promise<(Nft | null)[]> {
  if (keys.length > maxPageSize) {
    throw new ServiceError("value_error", `at most ${maxPageSize} tokens at once`, { field: "keys" });
  }
  const read = async (wanted: readonly NftKey[], tokens: string) => {
    const statement = sql<NftRow & { place: bigint }>`SELECT k.place, ${nftColumns(parts)}
      FROM unnest(${wanted.map(({ chain }) => findChain(services.chains, chain).id)}::integer[],
        ${wanted.map(({ contract }) => toBytes(contract))}::bytea[], ${wanted.map(({ tokenId }) => String(tokenId))}::numeric[])
        WITH ORDINALITY AS k (chain_id, contract, token_id, place)
      CROSS JOIN LATERAL ${sql.raw(tokens)} t
      LEFT JOIN service.token_metadata m
        ON m.chain_id = k.chain_id AND m.contract = k.contract AND m.token_id = k.token_id
      ${parts.contract ? sql.raw(contractJoins("k")) : sql``}`;
    return (await statement.execute(services.index.db)).rows;
  };
  const nftOf = nftReader(services.config, parts);
  const nfts: (Nft | null)[] = keys.map(() => null);
  const fill = async (places: readonly number[], tokens: string) => {
    const wanted = places.flatMap((place) => keys[place] ?? []);
    for (const row of await read(wanted, tokens)) {
      const place = places[Number(row.place) - 1];
      const key = place === undefined ? undefined : keys[place];
      if (place === undefined || !key) continue;
      services.demand.token(caller, findChain(services.chains, key.chain).id, key.contract, key.tokenId);
      nfts[place] = nftOf(key.chain, row);
    }
  };
  await fill([...keys.keys()], listedTokens);
  const missing = [...keys.keys()].filter((place) => nfts[place] === null);
  if (missing.length > 0) await fill(missing, withheldTokens);
  return nfts;
}

const listedTokens = `(SELECT x.* FROM nft.tokens x
  WHERE x.chain_id = k.chain_id AND x.contract = k.contract AND x.token_id = k.token_id)`;
const withheldTokens = withheldTokenOf("k");
