import {
  address,
  chainQuery,
  contractRecord,
  fileInformation,
  files,
  include,
  integer,
  type Json,
  list,
  metadataMembers,
  nullableText,
  object,
  pageQueries,
  path,
  query,
  read,
  refreshQuery,
  text,
  tokenKey,
} from "./openapi-parts.ts";

const refreshMembers = {
  status: { enum: ["ADDED", "PROCESSING", "PENDING", "REFRESHED_RECENTLY"] },
  status_message: text,
};
const accountItem = object(
  {
    ...tokenKey,
    name: nullableText,
    description: nullableText,
    ...files,
    creator_address: nullableText,
    ...metadataMembers,
    contract: contractRecord,
  },
  ["metadata", "metadata_url", "contract"],
);
const listItem = object(
  {
    ...tokenKey,
    ...metadataMembers,
    ...files,
    file_information: fileInformation,
    mint_date: nullableText,
    updated_date: nullableText,
    contract: contractRecord,
  },
  ["metadata", "metadata_url", ...Object.keys(files), "file_information", "mint_date", "updated_date", "contract"],
);
const nftDetail = object({
  ...tokenKey,
  ...metadataMembers,
  file_information: fileInformation,
  ...files,
  creator_address: nullableText,
  mint_date: nullableText,
  updated_date: nullableText,
  rarity: { type: ["object", "null"] },
  owner: nullableText,
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
        { nfts: { type: "array", items: accountItem }, total: integer, continuation: nullableText },
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
        { nfts: { type: "array", items: listItem }, continuation: nullableText },
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
          nfts: { type: "array", items: listItem },
          contract: contractRecord,
          total: integer,
          continuation: nullableText,
          ...refreshMembers,
        },
        ["not_found"],
        undefined,
        Object.keys(refreshMembers),
      ),
    },
    "/v0/nfts/{contract_address}/{token_id}": {
      get: read(
        "One NFT",
        [
          path("contract_address", address),
          path("token_id", { type: "string", pattern: "^\\d+$" }),
          chainQuery,
          refreshQuery,
        ],
        { nft: nftDetail, owner: nullableText, contract: contractRecord, ...refreshMembers },
        ["not_found"],
        undefined,
        Object.keys(refreshMembers),
      ),
    },
  };
}
