import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { chainAliases, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { readHeavy } from "./heavy-read.ts";
import { type Nft, type NftRow, nftColumns, nftReader } from "./nft-record.ts";

export interface SearchNftsInput {
  text: string;
  /** A chain's name, or `all`: every chain of this installation but the test chain, unless it is the only one. */
  chain: string;
  contract?: string | undefined;
  orderBy: "relevance" | "mint_date";
  descending: boolean;
  /** Pages are by number: results have no lasting order. */
  page: { size: number; number: number };
}

/** So many matches are ranked and can be paged through; which ones of a larger number is not promised. */
export const searchedMatches = 1_000;

const testChain = "goerli";
const shown = { metadata: false, contract: false };

/**
 * Live tokens whose name or description has all words of the text; words of three letters and more
 * also match as beginnings of words.
 *
 * @throws ServiceError `parameter_missing` for a text without a letter or digit.
 */
export async function searchNfts(services: Services, _caller: Caller, input: SearchNftsInput): Promise<Nft[]> {
  const chains = chainsOf(services, input.chain);
  const words = (input.text.normalize("NFC").match(/[\p{L}\p{N}]+/gu) ?? [])
    .slice(0, 10)
    .map((word) => word.slice(0, 60));
  if (words.length === 0) {
    throw new ServiceError("parameter_missing", "text must have at least one letter or digit", { field: "text" });
  }
  const { size, number } = input.page;
  const offset = (number - 1) * size;
  if (offset >= searchedMatches) return [];
  const query = words.map((word) => (word.length < 3 ? `'${word}'` : `'${word}':*`)).join(" & ");
  const wanted = sql`to_tsquery('simple', ${query})`;
  const vector = sql`service.search_text(m.name, m.description)`;
  const direction = sql.raw(input.descending ? "DESC" : "ASC");
  const order = input.orderBy === "relevance" ? sql`rank ${direction}` : sql`t.mint_timestamp ${direction} NULLS LAST`;
  const rows = await readHeavy(
    services,
    sql<NftRow & { chain_id: number }>`
    SELECT ${nftColumns(shown)}, t.chain_id
    FROM (
      SELECT m.*, ts_rank(${vector}, ${wanted}) AS rank FROM service.token_metadata m
      WHERE ${vector} @@ ${wanted} AND (m.name IS NOT NULL OR m.description IS NOT NULL)
        AND m.chain_id = ANY (${chains.map(({ id }) => id)}::integer[])
        AND ${input.contract === undefined ? sql`true` : sql`m.contract = ${toBytes(input.contract)}`}
      LIMIT ${sql.lit(searchedMatches)}) m
    JOIN nft.tokens t ON t.chain_id = m.chain_id AND t.contract = m.contract AND t.token_id = m.token_id
    WHERE t.supply > 0
    ORDER BY ${order}, t.chain_id, t.contract, t.token_id
    LIMIT ${sql.lit(size)} OFFSET ${sql.lit(offset)}`,
    "report",
  );
  if (input.contract !== undefined) for (const { id } of chains) services.demand.contract(id, input.contract);
  const named = chains.length === 1 && input.chain !== "all" ? input.chain : undefined;
  const toNft = nftReader(services.config, shown);
  return rows.flatMap((row) => toNft(named ?? chains.find(({ id }) => id === row.chain_id)?.name ?? "", row) ?? []);
}

function chainsOf(services: Services, name: string) {
  if (name !== "all") return [findChain(services.chains, name)];
  const real = services.chains.filter((chain) => (chainAliases[chain.name] ?? chain.name) !== testChain);
  return real.length > 0 ? real : services.chains;
}
