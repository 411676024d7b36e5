import { errorTable } from "../errors.ts";
import { accountPaths } from "./openapi-account.ts";

type Json = Record<string, unknown>;

const text = { type: "string" };
const nullableText = { type: ["string", "null"] };
const integer = { type: "integer" };
const address = { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" };
const hash = { type: "string", pattern: "^0x[0-9a-fA-F]{64}$" };
const date = { type: "string", description: "ISO 8601; UTC when it has no offset" };
const file = { type: "string", format: "binary" };

const chainQuery = query(
  "chain",
  { type: "string" },
  "ethereum, polygon, goerli (rinkeby), or a chain this installation added",
  true,
);
const continuationQuery = query("continuation", text, "the previous answer's continuation");
const pageNumberQuery = query("page_number", { type: "integer", minimum: 1, default: 1 }, "page, from 1");
const pageSizeQuery = query("page_size", { type: "integer", minimum: 1, maximum: 50, default: 50 }, "items per page");
const refreshQuery = query("refresh_metadata", { type: "boolean" }, "fetch the metadata again");

const contractRecord = object({
  name: nullableText,
  symbol: nullableText,
  type: { enum: ["ERC721", "ERC1155"] },
  metadata: object({
    description: nullableText,
    thumbnail_url: nullableText,
    cached_thumbnail_url: nullableText,
    banner_url: nullableText,
    cached_banner_url: nullableText,
  }),
});
const files = {
  file_url: nullableText,
  animation_url: nullableText,
  cached_file_url: nullableText,
  cached_animation_url: nullableText,
};
const metadataMembers = { metadata: { type: ["object", "null"] }, metadata_url: nullableText };
const fileInformation = {
  anyOf: [object({ height: integer, width: integer, file_size: integer }), { type: "null" }],
};
const tokenKey = { chain: text, contract_address: address, token_id: { type: "string", pattern: "^\\d+$" } };
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
          { metadata_directory_ipfs_uri: text, metadata_directory_ipfs_url: text },
          ["file_too_large"],
        ),
      },
      "/v0/contracts/collections": {
        post: operation(
          "Deploy a collection",
          [],
          deployAnswer(),
          ["plan_limit_exceeded", "service_unavailable"],
          deployBody(),
        ),
      },
      "/v0/contracts/{transaction_hash}": {
        get: operation(
          "Find the contract that a deployment made",
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
    },
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "Authorization", description: "the raw key, no scheme word" },
      },
      schemas: { Error: errorBody() },
    },
  };
}

function query(name: string, schema: Json, description: string, required = false): Json {
  return { name, in: "query", required, description, schema };
}

function path(name: string, schema: Json): Json {
  return { name, in: "path", required: true, schema };
}

function list(name: string, words: readonly string[]): Json {
  return {
    name,
    in: "query",
    required: false,
    style: "form",
    explode: true,
    schema: { type: "array", items: { enum: words } },
  };
}

function include(words: readonly string[]): Json {
  return list("include", words);
}

function pageQueries(): Json[] {
  return [pageNumberQuery, pageSizeQuery, continuationQuery];
}

function object(properties: Json, optional: readonly string[] = []): Json {
  return { type: "object", required: Object.keys(properties).filter((name) => !optional.includes(name)), properties };
}

function operation(
  summary: string,
  parameters: readonly Json[],
  members: Json,
  failures: readonly (keyof typeof errorTable)[],
  body?: Json,
  optional: readonly string[] = [],
): Json {
  const success = object({ response: { const: "OK" }, ...members, error: { type: "null" } }, optional);
  const statuses = new Set([401, 403, 422, ...failures.map((code) => errorTable[code].status)]);
  const responses: Json = { "200": { description: "Done", content: { "application/json": { schema: success } } } };
  for (const status of [...statuses].sort()) {
    const codes = Object.entries(errorTable).filter(([, row]) => row.status === status);
    responses[String(status)] = {
      description: codes.map(([code]) => code).join(", "),
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    };
  }
  const requestBody = body && { requestBody: { required: true, content: { "application/json": { schema: body } } } };
  return { summary, ...(parameters.length > 0 ? { parameters } : {}), ...requestBody, responses };
}

function upload(
  summary: string,
  part: string,
  schema: Json,
  members: Json,
  failures: readonly (keyof typeof errorTable)[],
): Json {
  const body = { required: true, content: { "multipart/form-data": { schema: object({ [part]: schema }) } } };
  return { ...operation(summary, [], members, [...failures, "unsupported_media_type"]), requestBody: body };
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

function deployAnswer(): Json {
  return {
    chain: text,
    transaction_hash: hash,
    transaction_external_url: text,
    owner_address: address,
    name: text,
    symbol: text,
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
  return object({ response: { const: "NOK" }, error, detail }, ["detail"]);
}
