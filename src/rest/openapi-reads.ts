import * as z from "zod";
import {
  address,
  anyObject,
  chainQuery,
  contractRecord,
  creator,
  fileInformation,
  files,
  hash,
  include,
  integer,
  type Json,
  list,
  metadataMembers,
  nullableText,
  optionalMetadata,
  owner,
  pageNumberQuery,
  pageQueries,
  pageSizeQuery,
  path,
  query,
  read,
  refreshQuery,
  text,
  texts,
  tokenId,
  tokenKey,
} from "./openapi-parts.ts";

const refreshMembers = {
  status: z.enum(["ADDED", "PROCESSING", "PENDING", "REFRESHED_RECENTLY"]).optional(),
  status_message: text.optional(),
};
const accountItem = z.object({
  ...tokenKey,
  ...texts,
  ...files,
  ...creator,
  ...optionalMetadata,
  contract: contractRecord.optional(),
});
const listItem = z.object({
  ...tokenKey,
  ...optionalMetadata,
  ...z.object(files).partial().shape,
  file_information: fileInformation.optional(),
  mint_date: nullableText.optional(),
  updated_date: nullableText.optional(),
  contract: contractRecord.optional(),
});
const nftDetail = z.object({
  ...tokenKey,
  ...metadataMembers,
  file_information: fileInformation,
  ...files,
  ...creator,
  mint_date: nullableText,
  updated_date: nullableText,
  rarity: anyObject.nullable(),
  ...owner,
});

/** Lists and details of NFTs. */
export function nftPaths(): Json {
  return {
    "/v0/accounts/{account_address}": {
      get: read(
        "NFTs of an account",
        [
          path("account_address", address),
          chainQuery,
          ...pageQueries,
          include("metadata", "contract_information"),
          list("exclude", ["erc721", "erc1155"]),
          query("contract_address", address, "only this contract"),
        ],
        { nfts: z.array(accountItem), total: integer, continuation: nullableText },
      ),
    },
    "/v0/nfts": {
      get: read(
        "All NFTs of a chain, newest mint first",
        [chainQuery, ...pageQueries, include("metadata", "file_information", "contract_information", "all")],
        { nfts: z.array(listItem), continuation: nullableText },
      ),
    },
    "/v0/nfts/{contract_address}": {
      get: read(
        "NFTs of a contract",
        [
          path("contract_address", address),
          chainQuery,
          ...pageQueries,
          include("metadata", "file_information", "all"),
          refreshQuery,
        ],
        {
          nfts: z.array(listItem),
          contract: contractRecord,
          total: integer,
          continuation: nullableText,
          ...refreshMembers,
        },
        ["not_found"],
      ),
    },
    "/v0/nfts/{contract_address}/{token_id}": {
      get: read(
        "One NFT",
        [path("contract_address", address), path("token_id", tokenId), chainQuery, refreshQuery],
        { nft: nftDetail, owner: nullableText, contract: contractRecord, ...refreshMembers },
        ["not_found"],
      ),
    },
  };
}

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
export const statistics = z.object({
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
  const words = ["transfer", "transfer_from", "transfer_to", "mint", "burn", "all"] as const;
  const market = ["buy", "sell", "sale", "list", "make_bid", "get_bid"];
  const transactions = (summary: string, parameters: readonly Json[]) =>
    read(summary, [...parameters, chainQuery, list("type", [...words, ...market]), ...pageQueries], {
      transactions: z.array(transaction),
      continuation: nullableText,
    });
  return {
    "/v0/accounts/contracts/{account_address}": {
      get: read(
        "Contracts of which an account holds NFTs",
        [
          account,
          chainQuery,
          query("type", z.enum(["owns_contract_nfts"]), "what the account has to do with them"),
          ...pageQueries,
        ],
        { contracts: z.array(heldContract), total: integer, continuation: nullableText },
      ),
    },
    "/v0/accounts/creators/{account_address}": {
      get: read(
        "NFTs whose minting transaction an account sent, newest mint first",
        [account, chainQuery, ...pageQueries, include("metadata", "contract_information")],
        { nfts: z.array(createdItem), continuation: nullableText },
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
          pageNumberQuery,
          pageSizeQuery,
          query("order_by", z.enum(["relevance", "mint_date"]).default("relevance"), "what decides the order"),
          query("sort_order", z.enum(["desc", "asc"]).default("desc"), "which end comes first"),
          query("filter_by_contract_address", address, "only this contract"),
        ],
        { search_results: z.array(searchResult) },
      ),
    },
  };
}
