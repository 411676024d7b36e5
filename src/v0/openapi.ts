import { errorTable } from "../errors.ts";
import { accountPaths } from "./openapi-account.ts";
import { dataPaths } from "./openapi-data.ts";
import {
  address,
  chainQuery,
  contractRecord,
  date,
  fileInformation,
  files,
  hash,
  include,
  integer,
  type Json,
  list,
  metadataMembers,
  nullableText,
  object,
  operation,
  pageNumberQuery,
  pageQueries,
  path,
  query,
  refreshQuery,
  text,
  tokenKey,
} from "./openapi-parts.ts";

const file = { type: "string", format: "binary" };

const refreshMembers = {
  status: { enum: ["ADDED", "PROCESSING", "PENDING", "REFRESHED_RECENTLY"] },
  status_message: text,
};
const storageItem = object(
  {
    storage_type: { enum: ["file", "metadata", "metadata_directory"] },
    type: { enum: ["file", "metadata", "metadata_directory"] },
    file_name: nullableText,
    ipfs_uri: text,
    ipfs_url: text,
    uploaded_date: text,
    content_type: nullableText,
    file_size: integer,
    file_size_mb: { type: "number" },
    metadata: { type: ["object", "null"] },
  },
  ["file_name", "content_type", "file_size", "file_size_mb", "metadata"],
);
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

/** Of a dry run only. */
const planMembers = {
  dry_run: { const: true },
  idempotency_key: { type: "string", description: "deploy with this Idempotency-Key to get predicted_address" },
  gas: integer,
  max_fee_per_gas: { type: "string", description: "wei" },
  cost: { type: "number", description: "at the fees of now, in the chain's native token" },
  max_cost: { type: "number", description: "at most" },
  warnings: { type: "array", items: text },
};
const ownCollection = object(
  {
    name: text,
    symbol: text,
    transaction_hash: hash,
    transaction_external_url: text,
    chain: text,
    address,
    owner_address: address,
    creation_date: text,
    metadata_frozen: { type: "boolean" },
    max_supply: integer,
    team_reserve: integer,
    mint_price: { type: "number" },
    tokens_per_mint: integer,
    treasury_address: address,
    public_mint_start: text,
    base_uri: text,
    prereveal_token_uri: text,
    presale_mint_start: nullableText,
    presale_whitelisted_addresses: { type: "array", items: address },
    presale_merkle_root: nullableText,
    royalties_share: integer,
    royalties_address: address,
    merkle_proofs: { type: "object", additionalProperties: { type: "array", items: hash } },
  },
  ["merkle_proofs"],
);

/** OpenAPI 3.1 of the legacy door. The committed copy is `schema/openapi.json`; a test compares them. */
export function createOpenApi(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Mintyard /v0",
      version: "0.1.0",
      description:
        "Every answer is one JSON object: `response` first, `error: null` last on success; status 200 exactly.",
      license: { name: "MIT", identifier: "MIT" },
    },
    security: [{ apiKey: [] }],
    paths: {
      ...accountPaths(),
      "/v0/files": { post: upload("Store a file on IPFS", "file", file, uploadedFile(), ["file_too_large"]) },
      "/v0/metadata": {
        post: operation("Store one metadata document on IPFS", [], metadataAnswer(), [], metadataBody()),
      },
      "/v0/metadata/directory": {
        post: upload(
          "Store a folder of metadata files on IPFS",
          "metadata_files",
          { type: "array", items: file },
          { metadata_directory_ipfs_uri: text, metadata_directory_ipfs_url: text, ...directoryReport },
          ["file_too_large"],
          [
            query("dry_run", { type: "boolean", default: false }, "check and tell the CID; nothing is stored"),
            query("warnings", { type: "boolean", default: false }, "add what wallets and markets will stumble over"),
          ],
          Object.keys(directoryReport),
        ),
      },
      "/v0/me/storage": {
        get: operation(
          "Your uploads, newest first",
          [
            { ...list("type", ["file", "metadata", "metadata_directory", "all"]), required: true },
            pageNumberQuery,
            query("page_size", { type: "integer", minimum: 1, maximum: 500, default: 50 }, "items per page"),
            query("start_date", date, "uploaded at this time or later"),
            query("end_date", date, "uploaded at this time or earlier"),
          ],
          { storage: { type: "array", items: storageItem } },
          [],
        ),
      },
      "/v0/contracts/collections": {
        post: operation(
          "Deploy a collection, or with dry_run say what that would do",
          [query("dry_run", { type: "boolean", default: false }, "check and simulate; nothing is stored or spent")],
          deployAnswer(),
          ["plan_limit_exceeded", "service_unavailable"],
          deployBody(),
          [
            ...Object.keys(planMembers),
            ...["transaction_hash", "transaction_external_url", "owner_address", "name", "symbol"],
          ],
        ),
        put: operation(
          "Change a collection: reveal, mint starts, presale list, royalties, freeze",
          [],
          { chain: text, transaction_hash: hash, transaction_external_url: text },
          ["not_found", "metadata_frozen", "plan_limit_exceeded", "service_unavailable"],
          updateBody(),
        ),
      },
      "/v0/me/contracts": {
        get: operation(
          "Product contracts of the account: none yet",
          [],
          { contracts: { type: "array", maxItems: 0 } },
          [],
        ),
      },
      "/v0/me/contracts/collections": {
        get: operation(
          "Collections of the account, newest first",
          [chainQuery, include(["default", "merkle_proofs"])],
          { contracts: { type: "array", items: ownCollection } },
          [],
        ),
      },
      "/v0/me/contracts/abis/{contract_address}": {
        get: operation(
          "ABI of a collection of the account",
          [path("contract_address", address), chainQuery],
          { abi: { type: "array", items: { type: "object" } } },
          ["not_found"],
        ),
      },
      "/v0/contracts/{transaction_hash}": {
        get: operation(
          "Find the contract that a transaction made or changed",
          [path("transaction_hash", hash), chainQuery],
          { chain: text, contract_address: address, transaction_hash: hash },
          ["not_found", "transaction_pending", "transaction_failed"],
        ),
      },
      "/v0/accounts/{account_address}": {
        get: operation(
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
        get: operation(
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
        get: operation(
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
        get: operation(
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
      ...dataPaths(),
    },
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "Authorization", description: "the raw key, no scheme word" },
      },
      schemas: { Error: errorBody() },
    },
  };
}

/** Of a directory, when it was asked for. */
const directoryWarning = object({
  rule: text,
  message: text,
  count: integer,
  examples: { type: "array", items: text },
});
const directoryReport = {
  dry_run: { const: true },
  files: integer,
  size_bytes: integer,
  warnings: { type: "array", items: directoryWarning },
};

function upload(
  summary: string,
  part: string,
  schema: Json,
  members: Json,
  failures: readonly (keyof typeof errorTable)[],
  queries: readonly Json[] = [],
  optional: readonly string[] = [],
): Json {
  const body = { required: true, content: { "multipart/form-data": { schema: object({ [part]: schema }) } } };
  const described = operation(summary, queries, members, [...failures, "unsupported_media_type"], undefined, optional);
  return { ...described, requestBody: body };
}

function uploadedFile(): Json {
  return {
    ipfs_url: text,
    file_name: nullableText,
    content_type: nullableText,
    file_size: integer,
    file_size_mb: { type: "number" },
  };
}

const attribute = object(
  {
    trait_type: text,
    value: { type: ["string", "number"] },
    max_value: { type: ["number", "null"] },
    display_type: { enum: ["boost_number", "boost_percentage", "number", "date", null] },
  },
  ["max_value", "display_type"],
);

function metadataMembersOf(): Json {
  return {
    name: text,
    description: text,
    file_url: text,
    external_url: nullableText,
    animation_url: nullableText,
    custom_fields: { type: ["object", "null"] },
    attributes: { type: ["array", "null"], items: attribute },
  };
}

function metadataBody(): Json {
  return object(metadataMembersOf(), ["external_url", "animation_url", "custom_fields", "attributes"]);
}

function metadataAnswer(): Json {
  return { metadata_uri: text, ...metadataMembersOf() };
}

function deployBody(): Json {
  const required = {
    chain: text,
    name: text,
    symbol: text,
    max_supply: { type: "integer", minimum: 1 },
    mint_price: { type: "number", minimum: 0, description: "in the chain's native token" },
    tokens_per_mint: { type: "integer", minimum: 1 },
    owner_address: address,
    treasury_address: address,
    public_mint_start: date,
  };
  const optional = {
    team_reserve: { type: "integer", minimum: 0, default: 0 },
    presale_mint_price: { type: "number", minimum: 0 },
    presale_mint_start: date,
    presale_whitelisted_addresses: { type: "array", items: address },
    metadata_updatable: { type: "boolean", default: true },
    base_uri: text,
    prereveal_token_uri: text,
    royalties_share: { type: "integer", minimum: 0, maximum: 10_000, default: 0, description: "basis points" },
    royalties_address: address,
    public_mint_start_date: { ...date, description: "older spelling of public_mint_start" },
    presale_mint_start_date: { ...date, description: "older spelling of presale_mint_start" },
    royalty_share: { type: "integer", description: "older spelling of royalties_share" },
    royalty_address: { ...address, description: "older spelling of royalties_address" },
  };
  // The older spelling satisfies it too, which `required` cannot say.
  return object({ ...required, ...optional }, [...Object.keys(optional), "public_mint_start"]);
}

function updateBody(): Json {
  const optional = {
    base_uri: { ...text, description: "reveals; an empty text hides again" },
    prereveal_token_uri: text,
    public_mint_start: date,
    presale_mint_start: date,
    presale_whitelisted_addresses: { type: "array", items: address, description: "replaces the whole list" },
    royalties_share: { type: "integer", minimum: 0, maximum: 10_000, description: "basis points" },
    royalties_address: address,
    freeze_metadata: { type: "boolean", description: "true freezes for good" },
    public_mint_start_date: { ...date, description: "older spelling of public_mint_start" },
    presale_mint_start_date: { ...date, description: "older spelling of presale_mint_start" },
    royalty_share: { type: "integer", description: "older spelling of royalties_share" },
    royalty_address: { ...address, description: "older spelling of royalties_address" },
  };
  return object({ chain: text, contract_address: address, ...optional }, Object.keys(optional));
}

function deployAnswer(): Json {
  return {
    chain: text,
    transaction_hash: hash,
    transaction_external_url: text,
    owner_address: address,
    name: text,
    symbol: text,
    predicted_address: address,
    ...planMembers,
  };
}

function errorBody(): Json {
  const error = object({
    status_code: integer,
    code: { enum: Object.keys(errorTable) },
    message: text,
    request_id: { type: "string", description: "names this request in the server's log" },
    fix: { type: "string", description: "what to do about it" },
    docs: { type: "string", description: "path of a page about this code" },
  });
  const detail = { type: "array", items: object({ loc: { type: "array", items: text }, msg: text, type: text }) };
  const warnings = {
    type: "array",
    description: "what else a metadata directory should mend",
    items: directoryWarning,
  };
  return object({ response: { const: "NOK" }, error, detail, warnings }, ["detail", "warnings"]);
}
