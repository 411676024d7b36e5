import * as z from "zod";
import {
  accountPath,
  address,
  anyObject,
  chainQuery,
  continuation,
  contractPath,
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
  query,
  read,
  refreshQuery,
  text,
  texts,
  tokenKey,
  tokenPath,
  transactionHash,
} from "./openapi-parts.ts";

const refreshMembers = {
  status: z
    .enum(["ADDED", "PROCESSING", "PENDING", "REFRESHED_RECENTLY"])
    .describe(
      "With `refresh_metadata`: `ADDED`: queued now; `PENDING`: already queued; `PROCESSING`: being read; `REFRESHED_RECENTLY`: read within the last five minutes.",
    )
    .optional(),
  status_message: text.describe("The status in English.").optional(),
};
const dates = {
  mint_date: nullableText.describe(
    "Time of the block in which the token was minted, in UTC without an offset, to seconds; null if it is not known.",
  ),
  updated_date: nullableText.describe(
    "When the metadata was last read, in UTC without an offset, to microseconds; null if it has not been read.",
  ),
};
const nftList = (item: z.ZodType) => z.array(item).describe("The NFTs on this page.");
const total = integer.describe("Number of items on all pages.");

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
  mint_date: dates.mint_date.optional(),
  updated_date: dates.updated_date.optional(),
  contract: contractRecord.optional(),
});
const nftDetail = z.object({
  ...tokenKey,
  ...metadataMembers,
  file_information: fileInformation,
  ...files,
  ...creator,
  ...dates,
  rarity: anyObject.nullable().describe("Always null: rarity is not computed."),
  ...owner,
});

export function nftPaths(): Json {
  return {
    "/v0/accounts/{account_address}": {
      get: read(
        "List the NFTs of an account",
        [
          accountPath,
          chainQuery,
          ...pageQueries,
          include("metadata", "contract_information"),
          list("exclude", ["erc721", "erc1155"], "Token standards to exclude; none by default."),
          query("contract_address", address, "Only NFTs of this contract."),
        ],
        { nfts: nftList(accountItem), total, continuation },
      ),
    },
    "/v0/nfts": {
      get: read(
        "List all NFTs of a chain, newest mint first",
        [chainQuery, ...pageQueries, include("metadata", "file_information", "contract_information", "all")],
        { nfts: nftList(listItem), continuation },
      ),
    },
    "/v0/nfts/{contract_address}": {
      get: read(
        "List the NFTs of a contract",
        [contractPath, chainQuery, ...pageQueries, include("metadata", "file_information", "all"), refreshQuery],
        {
          nfts: nftList(listItem),
          contract: contractRecord,
          total,
          continuation,
          ...refreshMembers,
        },
        ["not_found"],
      ),
    },
    "/v0/nfts/{contract_address}/{token_id}": {
      get: read(
        "Get one NFT",
        [contractPath, tokenPath, chainQuery, refreshQuery],
        {
          nft: nftDetail.describe("The NFT."),
          owner: nullableText.describe("The same as `nft.owner`."),
          contract: contractRecord,
          ...refreshMembers,
        },
        ["not_found"],
      ),
    },
  };
}

const transaction = z.object({
  type: z.enum(["transfer", "mint", "burn"]).describe("Whether the token was transferred, minted or burned."),
  transfer_from: address.describe("Sender of a transfer.").optional(),
  transfer_to: address.describe("Recipient of a transfer.").optional(),
  owner_address: address.describe("Recipient of a mint, or last owner of a burned token.").optional(),
  contract_address: address.describe("Address of the token's contract, in lower case."),
  token_id: text.describe("Id of the token, a decimal number as a string."),
  quantity: z.number().describe("Number of units, of any size; 1 for ERC-721."),
  transaction_hash: transactionHash,
  block_hash: hash.describe("Hash of the block."),
  block_number: integer.describe("Number of the block."),
  transaction_date: text.describe("Time of the block, in UTC without an offset, to seconds."),
});
const heldContract = z.object({
  ...contractRecord.shape,
  address: address.describe("Address of the contract, in lower case."),
  num_nfts_owned: integer.describe("Number of token ids of the contract that the account owns."),
});
const createdItem = z.object({
  ...tokenKey,
  ...texts,
  ...optionalMetadata,
  ...files,
  contract: contractRecord.optional(),
  owner_addresses: z.array(address).describe("Current owners, up to 100; empty for a burned token."),
});
const searchResult = z.object({
  ...tokenKey,
  cached_file_url: nullableText.describe(
    "URL of this service's own copy of the image; if there is no copy, the image's own URL or its URL at the IPFS gateway. Null if there is no image.",
  ),
  name: text.describe("Name in the token's metadata; empty if it has none."),
  description: text.describe("Description in the token's metadata; empty if it has none."),
  mint_date: dates.mint_date,
});
const market = z.number().nullable().describe("Always null, because markets are not indexed.");
const marketPeriods = ["one_day", "seven_day", "thirty_day"];
export const statistics = z.object({
  ...Object.fromEntries(
    marketPeriods.flatMap((period) =>
      ["volume", "change", "sales", "average_price"].map((name) => [`${period}_${name}`, market]),
    ),
  ),
  total_volume: market,
  total_sales: market,
  total_supply: integer.describe("Minted minus burned: tokens for ERC-721, units for ERC-1155."),
  total_minted: integer.describe("Ever minted, in the same unit."),
  num_owners: integer.describe("Number of distinct addresses that own a token now."),
  average_price: market,
  market_cap: market,
  floor_price: market,
  ...Object.fromEntries(marketPeriods.map((period) => [`floor_price_historic_${period}`, market])),
  updated_date: text.describe("When this was counted, in UTC without an offset, to microseconds."),
});

/** Transfers, statistics and search. */
export function dataPaths(): Json {
  const words = ["transfer", "transfer_from", "transfer_to", "mint", "burn", "all"] as const;
  const market = ["buy", "sell", "sale", "list", "make_bid", "get_bid"];
  const types = list(
    "type",
    [...words, ...market],
    "Kinds to list, all by default. Repeat the parameter, or separate the values with commas. Market kinds match nothing.",
  );
  const transactions = (summary: string, parameters: readonly Json[]) =>
    read(summary, [...parameters, chainQuery, types, ...pageQueries], {
      transactions: z.array(transaction).describe("Transfers, mints and burns on this page, newest first."),
      continuation,
    });
  return {
    "/v0/accounts/contracts/{account_address}": {
      get: read(
        "List the contracts of which an account owns NFTs",
        [
          accountPath,
          chainQuery,
          query(
            "type",
            z.enum(["owns_contract_nfts"]),
            "The account's relation to the contracts; `owns_contract_nfts` is the only value and the default.",
          ),
          ...pageQueries,
        ],
        { contracts: z.array(heldContract).describe("The contracts on this page."), total, continuation },
      ),
    },
    "/v0/accounts/creators/{account_address}": {
      get: read(
        "List the NFTs whose minting transaction an account sent, newest mint first",
        [accountPath, chainQuery, ...pageQueries, include("metadata", "contract_information")],
        { nfts: nftList(createdItem), continuation },
      ),
    },
    "/v0/transactions": {
      get: transactions("List transfers, mints and burns on a chain, newest first", [
        query("from_block", z.int().min(0), "Only from this block on."),
        query("to_block", z.int().min(0), "Only up to and including this block."),
      ]),
    },
    "/v0/transactions/accounts/{account_address}": {
      get: transactions("List transfers, mints and burns of an account, newest first", [accountPath]),
    },
    "/v0/transactions/nfts/{contract_address}": {
      get: transactions("List transfers, mints and burns of a contract, newest first", [contractPath]),
    },
    "/v0/transactions/nfts/{contract_address}/{token_id}": {
      get: transactions("List transfers, mints and burns of one NFT, newest first", [contractPath, tokenPath]),
    },
    "/v0/transactions/stats/{contract_address}": {
      get: read(
        "Get supply and owner counts of a contract",
        [contractPath, chainQuery],
        { statistics: statistics.describe("Figures from the chain alone.") },
        ["not_found"],
      ),
    },
    "/v0/search": {
      get: read(
        "Search NFTs by name and description",
        [
          query(
            "text",
            text,
            "Words to search for, in any letter case and with or without accents. A word of three letters or more also matches longer words that begin with it.",
            true,
          ),
          query("chain", text, "Name of the chain; `all`, the default, stands for every chain except the test chain."),
          pageNumberQuery,
          pageSizeQuery,
          query(
            "order_by",
            z.enum(["relevance", "mint_date"]).default("relevance"),
            "What to order by; `relevance` by default.",
          ),
          query(
            "sort_order",
            z.enum(["desc", "asc"]).default("desc"),
            "Direction of the order; `desc` by default, the best or newest first.",
          ),
          query("filter_by_contract_address", address, "Only NFTs of this contract."),
        ],
        { search_results: z.array(searchResult).describe("The NFTs on this page.") },
      ),
    },
  };
}
