import * as z from "zod";
import {
  address,
  anyObject,
  chainQuery,
  contractRecord,
  creator,
  fileInformation,
  files,
  include,
  integer,
  type Json,
  list,
  metadataMembers,
  nullableText,
  optionalMetadata,
  owner,
  pageQueries,
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
          ...pageQueries(),
          include(["default", "metadata", "contract_information"]),
          list("exclude", ["erc721", "erc1155"]),
          query("contract_address", address, "only this contract"),
        ],
        { nfts: z.array(accountItem), total: integer, continuation: nullableText },
        [],
      ),
    },
    "/v0/nfts": {
      get: read(
        "All NFTs of a chain, newest mint first",
        [
          chainQuery,
          ...pageQueries(),
          include(["default", "metadata", "file_information", "contract_information", "all"]),
        ],
        { nfts: z.array(listItem), continuation: nullableText },
        [],
      ),
    },
    "/v0/nfts/{contract_address}": {
      get: read(
        "NFTs of a contract",
        [
          path("contract_address", address),
          chainQuery,
          ...pageQueries(),
          include(["default", "metadata", "file_information", "all"]),
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
