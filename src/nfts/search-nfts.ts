import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { chainAliases, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { type Nft, type NftRow, nftColumns, nftReader } from "./nft-record.ts";
import { readHeavy } from "./read-for-each.ts";

export interface SearchNftsInput {
  text: string;
  /** A chain's name, or `all`: every chain of this installation except the test chain, unless it is the only one. */
  chain: string;
  contract?: string | undefined;
  orderBy: "relevance" | "mint_date";
  descending: boolean;
  /** Pages go by number, because results have no stable order. */
  page: { size: number; number: number };
}

/** The most matches that are ranked and can be paged through; if there are more, which of them is unspecified. */
const searchedMatches = 1_000;

const testChain = "goerli";
const shown = { metadata: false, contract: false };

/**
 * Detects texts without any searchable word. PostgreSQL splits texts into words the same way as names
 * (`service.search_query`).
 */
const searchable = /[\p{L}\p{N}]|(?![\0-\xff])\p{S}/u;

/**
 * Finds live tokens whose name or description has all words of the text. Words of three or more letters also match as
 * prefixes. In scripts without spaces, and for emoji, any part matches.
 *
 * @throws ServiceError `parameter_missing` for a text without a letter, digit or emoji.
 */
export async function searchNfts(services: Services, _caller: Caller, input: SearchNftsInput): Promise<Nft[]> {
  const chains = chainsOf(services, input.chain);
  if (!searchable.test(input.text)) {
    throw new ServiceError("parameter_missing", "text must have at least one letter, digit or emoji", {
      field: "text",
    });
  }
  const { size, number } = input.page;
  const offset = (number - 1) * size;
  if (offset >= searchedMatches) return [];
  const wanted = sql`service.search_query(${input.text.replaceAll("\0", " ").toWellFormed()})`;
  const chainIds = sql`${chains.map(({ id }) => id)}::integer[]`;
  const contract = input.contract === undefined ? null : toBytes(input.contract);
  const most = sql.lit(searchedMatches);
  const direction = sql.raw(input.descending ? "DESC" : "ASC");
  const first = input.orderBy === "relevance" ? sql`rank ${direction}` : sql`t.mint_timestamp ${direction} NULLS LAST`;
  const order = sql`${first}, t.chain_id, t.contract, t.token_id`;
  const rows = await readHeavy(
    services,
    sql<NftRow & { chain_id: number }>`
    SELECT ${nftColumns(shown)}, t.chain_id
    FROM (
      SELECT t.*, f.rank
      FROM (
        (SELECT w.chain_id, w.contract, w.token_id, ts_rank(w.words, ${wanted}) AS rank FROM service.token_words w
          WHERE w.words @@ ${wanted} AND w.chain_id = ANY (${chainIds})
            AND ${contract ? sql`w.contract = ${contract}` : sql`true`} LIMIT ${most})
        UNION ALL
        SELECT * FROM service.search_without_words(${wanted}, ${chainIds}, ${contract}, ${most})
        LIMIT ${most}) f
      JOIN nft.tokens t ON t.chain_id = f.chain_id AND t.contract = f.contract AND t.token_id = f.token_id
      WHERE t.supply > 0
      ORDER BY ${order}
      LIMIT ${sql.lit(size)} OFFSET ${sql.lit(offset)}) t
    JOIN service.token_metadata m ON m.chain_id = t.chain_id AND m.contract = t.contract AND m.token_id = t.token_id
    ORDER BY ${order}`,
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
