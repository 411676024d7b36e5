import * as z from "zod";
import {
  address,
  chainQuery,
  contractRecord,
  files,
  hash,
  include,
  integer,
  type Json,
  list,
  nullableText,
  optionalMetadata,
  pageQueries,
  path,
  query,
  read,
  text,
  tokenId,
  tokenKey,
} from "./openapi-parts.ts";

const quantity = z.number().describe("1 for ERC-721");
const transaction = z.object({
  type: z.enum(["transfer", "mint", "burn"]),
  transfer_from: address.optional(),
  transfer_to: address.optional(),
  owner_address: address.describe("receiver of a mint, last owner of a burned token").optional(),
  contract_address: address,
  token_id: text,
  quantity,
  transaction_hash: hash,
  block_hash: hash,
  block_number: integer,
  transaction_date: text,
});
const heldContract = z.object({
  ...contractRecord.shape,
  address,
  num_nfts_owned: integer.describe("token ids of the contract that the account holds"),
});
const createdItem = z.object({
  ...tokenKey,
  name: nullableText,
  description: nullableText,
  ...optionalMetadata,
  ...files,
  contract: contractRecord.optional(),
  owner_addresses: z.array(address).describe("up to 100"),
});
const searchResult = z.object({
  ...tokenKey,
  cached_file_url: nullableText,
  name: text,
  description: text,
  mint_date: nullableText,
});
const market = z.number().nullable();
const marketPeriods = ["one_day", "seven_day", "thirty_day"];
const statistics = z.object({
  ...Object.fromEntries(
    marketPeriods.flatMap((period) =>
      ["volume", "change", "sales", "average_price"].map((name) => [`${period}_${name}`, market]),
    ),
  ),
  total_volume: market,
  total_sales: market,
  total_supply: integer,
  total_minted: integer,
  num_owners: integer,
  average_price: market,
  market_cap: market,
  floor_price: market,
  ...Object.fromEntries(marketPeriods.map((period) => [`floor_price_historic_${period}`, market])),
  updated_date: text,
});

/** What the chain's movements tell, and search. */
export function dataPaths(): Json {
  const contract = path("contract_address", address);
  const account = path("account_address", address);
  const [, , continuation] = pageQueries();
  const words = ["transfer", "transfer_from", "transfer_to", "mint", "burn", "all"] as const;
  const market = ["buy", "sell", "sale", "list", "make_bid", "get_bid"];
  const transactions = (summary: string, parameters: readonly Json[]) =>
    read(
      summary,
      [...parameters, chainQuery, list("type", [...words, ...market]), ...pageQueries()],
      { transactions: z.array(transaction), continuation: nullableText },
      [],
    );
  return {
    "/v0/accounts/contracts/{account_address}": {
      get: read(
        "Contracts of which an account holds NFTs",
        [
          account,
          chainQuery,
          query("type", z.enum(["owns_contract_nfts"]), "what the account has to do with them"),
          ...pageQueries(),
        ],
        { contracts: z.array(heldContract), total: integer, continuation: nullableText },
        [],
      ),
    },
    "/v0/accounts/creators/{account_address}": {
      get: read(
        "NFTs whose minting transaction an account sent, newest mint first",
        [account, chainQuery, ...pageQueries(), include(["default", "metadata", "contract_information"])],
        { nfts: z.array(createdItem), continuation: nullableText },
        [],
      ),
    },
    "/v0/transactions": {
      get: transactions("Movements of NFTs on a whole chain, newest first", [
        query("from_block", z.int().min(0), "this block and later ones"),
        query("to_block", z.int().min(0), "this block and earlier ones"),
      ]),
    },
    "/v0/transactions/accounts/{account_address}": {
      get: transactions("Movements of NFTs from and to an account, newest first", [account]),
    },
    "/v0/transactions/nfts/{contract_address}": {
      get: transactions("Movements of a contract's NFTs, newest first", [contract]),
    },
    "/v0/transactions/nfts/{contract_address}/{token_id}": {
      get: transactions("Movements of one NFT, newest first", [contract, path("token_id", tokenId)]),
    },
    "/v0/transactions/stats/{contract_address}": {
      get: read("Supply and holders of a contract", [contract, chainQuery], { statistics }, ["not_found"]),
    },
    "/v0/search": {
      get: read(
        "NFTs whose name or description has all words of a text",
        [
          query(
            "text",
            text,
            "words, in any case and with or without accents; of three letters and more also the beginnings of words",
            true,
          ),
          query("chain", text, "a chain, or all of them: the default"),
          ...pageQueries().filter((parameter) => parameter !== continuation),
          query("order_by", z.enum(["relevance", "mint_date"]).default("relevance"), "what decides the order"),
          query("sort_order", z.enum(["desc", "asc"]).default("desc"), "which end comes first"),
          query("filter_by_contract_address", address, "only this contract"),
        ],
        { search_results: z.array(searchResult) },
        [],
      ),
    },
  };
}
