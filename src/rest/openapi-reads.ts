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
      "With `refresh_metadata`: `ADDED`: queued now; `PENDING`: it was queued already; `PROCESSING`: it is being read; `REFRESHED_RECENTLY`: it was read in the last five minutes.",
    )
    .optional(),
  status_message: text.describe("The same in words.").optional(),
};
const dates = {
  mint_date: nullableText.describe(
    "Time of the block that it was minted in: UTC without an offset, to seconds; null when not known.",
  ),
  updated_date: nullableText.describe(
    "When the metadata was read last: UTC without an offset, to microseconds; null: not yet.",
  ),
};
const nftList = (item: z.ZodType) => z.array(item).describe("The NFTs of this page.");
const total = integer.describe("Items on all pages.");

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

/** Lists and details of NFTs. */
export function nftPaths(): Json {
  return {
    "/v0/accounts/{account_address}": {
      get: read(
        "NFTs of an account",
        [
          accountPath,
          chainQuery,
          ...pageQueries,
          include("metadata", "contract_information"),
          list("exclude", ["erc721", "erc1155"], "Token standards to leave out; the default is none."),
          query("contract_address", address, "Only NFTs of this contract."),
        ],
        { nfts: nftList(accountItem), total, continuation },
      ),
    },
    "/v0/nfts": {
      get: read(
        "All NFTs of a chain, newest mint first",
        [chainQuery, ...pageQueries, include("metadata", "file_information", "contract_information", "all")],
        { nfts: nftList(listItem), continuation },
      ),
    },
    "/v0/nfts/{contract_address}": {
      get: read(
        "NFTs of a contract",
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
        "One NFT",
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
  type: z.enum(["transfer", "mint", "burn"]).describe("Whether the token was moved, minted or burned."),
  transfer_from: address.describe("Sender of a transfer.").optional(),
  transfer_to: address.describe("Receiver of a transfer.").optional(),
  owner_address: address.describe("Receiver of a mint, or last owner of a burned token.").optional(),
  contract_address: address.describe("Address of the token's contract, lower case."),
  token_id: text.describe("Id of the token, a decimal number as text."),
  quantity: z.number().describe("How many of the token, of any size; 1 for ERC-721."),
  transaction_hash: transactionHash,
  block_hash: hash.describe("Hash of the block."),
  block_number: integer.describe("Number of the block."),
  transaction_date: text.describe("Time of the block: UTC without an offset, to seconds."),
});
const heldContract = z.object({
  ...contractRecord.shape,
  address: address.describe("Address of the contract, lower case."),
  num_nfts_owned: integer.describe("How many token ids of the contract the account holds."),
});
const createdItem = z.object({
  ...tokenKey,
  ...texts,
  ...optionalMetadata,
  ...files,
  contract: contractRecord.optional(),
  owner_addresses: z.array(address).describe("Holders now, 100 at most; empty for a burned token."),
});
const searchResult = z.object({
  ...tokenKey,
  cached_file_url: nullableText.describe(
    "URL of this service's own copy of the image, else of the image at its own place or at the IPFS gateway; null when there is none.",
  ),
  name: text.describe("Name in the token's metadata; empty when it has none."),
  description: text.describe("Description in the token's metadata; empty when it has none."),
  mint_date: dates.mint_date,
});
const market = z.number().nullable().describe("Always null: no market is indexed.");
const marketPeriods = ["one_day", "seven_day", "thirty_day"];
export const statistics = z.object({
  ...Object.fromEntries(
    marketPeriods.flatMap((period) =>
      ["volume", "change", "sales", "average_price"].map((name) => [`${period}_${name}`, market]),
    ),
  ),
  total_volume: market,
  total_sales: market,
  total_supply: integer.describe("What was minted and not burned: of ERC-721 tokens, of ERC-1155 amounts."),
  total_minted: integer.describe("What was ever minted, in the same unit."),
  num_owners: integer.describe("How many different addresses hold something of it now."),
  average_price: market,
  market_cap: market,
  floor_price: market,
  ...Object.fromEntries(marketPeriods.map((period) => [`floor_price_historic_${period}`, market])),
  updated_date: text.describe("When this was counted: UTC without an offset, to microseconds."),
});

/** Transfers, statistics and search. */
export function dataPaths(): Json {
  const words = ["transfer", "transfer_from", "transfer_to", "mint", "burn", "all"] as const;
  const market = ["buy", "sell", "sale", "list", "make_bid", "get_bid"];
  const types = list(
    "type",
    [...words, ...market],
    "Kinds of movements, all by default: repeat the parameter, or separate the words by commas; words of markets match nothing.",
  );
  const transactions = (summary: string, parameters: readonly Json[]) =>
    read(summary, [...parameters, chainQuery, types, ...pageQueries], {
      transactions: z.array(transaction).describe("Movements of this page, newest first."),
      continuation,
    });
  return {
    "/v0/accounts/contracts/{account_address}": {
      get: read(
        "Contracts of which an account holds NFTs",
        [
          accountPath,
          chainQuery,
          query(
            "type",
            z.enum(["owns_contract_nfts"]),
            "What the account has to do with them: `owns_contract_nfts` is the only word and the default.",
          ),
          ...pageQueries,
        ],
        { contracts: z.array(heldContract).describe("The contracts of this page."), total, continuation },
      ),
    },
    "/v0/accounts/creators/{account_address}": {
      get: read(
        "NFTs whose minting transaction an account sent, newest mint first",
        [accountPath, chainQuery, ...pageQueries, include("metadata", "contract_information")],
        { nfts: nftList(createdItem), continuation },
      ),
    },
    "/v0/transactions": {
      get: transactions("Movements of NFTs on a whole chain, newest first", [
        query("from_block", z.int().min(0), "Only movements of this block and later ones."),
        query("to_block", z.int().min(0), "Only movements of this block and earlier ones."),
      ]),
    },
    "/v0/transactions/accounts/{account_address}": {
      get: transactions("Movements of NFTs from and to an account, newest first", [accountPath]),
    },
    "/v0/transactions/nfts/{contract_address}": {
      get: transactions("Movements of a contract's NFTs, newest first", [contractPath]),
    },
    "/v0/transactions/nfts/{contract_address}/{token_id}": {
      get: transactions("Movements of one NFT, newest first", [contractPath, tokenPath]),
    },
    "/v0/transactions/stats/{contract_address}": {
      get: read(
        "Supply and holders of a contract",
        [contractPath, chainQuery],
        { statistics: statistics.describe("What the chain alone says of the contract.") },
        ["not_found"],
      ),
    },
    "/v0/search": {
      get: read(
        "NFTs whose name or description has all words of a text",
        [
          query(
            "text",
            text,
            "Words to look for, in any letter case and with or without accents; one of three letters or more also matches the beginning of a word.",
            true,
          ),
          query("chain", text, "Name of the chain; `all`, the default, is every chain but the test chain."),
          pageNumberQuery,
          pageSizeQuery,
          query(
            "order_by",
            z.enum(["relevance", "mint_date"]).default("relevance"),
            "What decides the order; the default is `relevance`.",
          ),
          query(
            "sort_order",
            z.enum(["desc", "asc"]).default("desc"),
            "Direction of the order; the default is `desc`, the best or newest first.",
          ),
          query("filter_by_contract_address", address, "Only NFTs of this contract."),
        ],
        { search_results: z.array(searchResult).describe("The NFTs of this page.") },
      ),
    },
  };
}
