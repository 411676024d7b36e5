import {
  address,
  chainQuery,
  hash,
  integer,
  type Json,
  nullableText,
  object,
  operation,
  pageNumberQuery,
  pageSizeQuery,
  path,
  query,
  text,
} from "./openapi-parts.ts";

const failures = ["not_found", "plan_limit_exceeded", "service_unavailable"] as const;
const place = { chain: text, contract_address: address };
const transaction = { ...place, transaction_hash: hash, transaction_external_url: text };
const tokenId = {
  anyOf: [
    { type: "string", pattern: "^\\d+$" },
    { type: "integer", minimum: 0 },
  ],
};
const quantity = {
  anyOf: [
    { type: "string", pattern: "^\\d+$" },
    { type: "integer", minimum: 1 },
  ],
};
const roleWord = { enum: ["mint", "update_contract", "update_token", "burn", "transfer"] };
const role = object({ role: roleWord, addresses: { type: "array", items: address }, freeze: { type: "boolean" } }, [
  "addresses",
  "freeze",
]);
const settings = {
  base_uri: text,
  royalties_share: { type: "integer", minimum: 0, maximum: 10_000, description: "basis points" },
  royalties_address: address,
  roles: { type: "array", items: role },
};

/** Product contracts and what the service mints, changes, burns and transfers in them. */
export function mintPaths(): Json {
  return {
    "/v0/contracts": { post: createContract(), put: updateContract() },
    "/v0/mints/customizable": {
      post: operation(
        "Mint a token to any recipient, exactly once",
        [],
        { ...transaction, metadata_uri: text, mint_to_address: address },
        failures,
        object(
          {
            ...{ ...place, metadata_uri: text, mint_to_address: address },
            token_id: { ...tokenId, description: "drawn when absent" },
          },
          ["token_id"],
        ),
      ),
      put: operation(
        "Change or freeze the metadata URI of a token",
        [],
        transaction,
        failures,
        object({ ...place, token_id: tokenId, metadata_uri: text, freeze_metadata: { type: "boolean" } }, [
          "metadata_uri",
          "freeze_metadata",
        ]),
      ),
      delete: operation(
        "Burn a token that the contract's owner holds",
        [],
        transaction,
        failures,
        object({ ...place, token_id: tokenId }),
      ),
    },
    "/v0/mints/customizable/batch": {
      post: operation(
        "Mint tokens of an ERC-1155 contract in one transaction",
        [],
        { ...transaction, tokens: { type: "array", items: { type: "object" } } },
        failures,
        batch({ mint_to_address: address, token_id: tokenId, metadata_uri: text, quantity }, ["token_id"]),
      ),
      delete: operation(
        "Burn tokens that the contract's owner holds",
        [],
        transaction,
        failures,
        batch({ token_id: tokenId, quantity }),
      ),
    },
    "/v0/mints/transfers": {
      post: operation(
        "Transfer a token that the contract's owner holds",
        [],
        transaction,
        failures,
        object({ ...place, token_id: tokenId, transfer_to_address: address }),
      ),
    },
    "/v0/mints/transfers/batch": {
      post: operation(
        "Transfer tokens of an ERC-1155 contract that its owner holds",
        [],
        transaction,
        failures,
        batch({ transfer_to_address: address, token_id: tokenId, quantity }),
      ),
    },
    "/v0/mints/easy/urls": {
      post: operation(
        "Mint a file by its link in the service's own contract",
        [],
        easyAnswer(),
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        object({ chain: text, name: text, description: text, file_url: text, mint_to_address: address }),
      ),
    },
    "/v0/mints/easy/files": { post: easyFile() },
    "/v0/mints/{transaction_hash}": {
      get: operation(
        "The token that a transaction minted",
        [path("transaction_hash", hash), chainQuery],
        { ...place, token_id: text },
        ["not_found", "transaction_pending", "transaction_failed"],
      ),
    },
    "/v0/mints/batch/{transaction_hash}": {
      get: operation(
        "The tokens that a transaction minted",
        [path("transaction_hash", hash), chainQuery],
        { ...place, token_ids: { type: "array", items: text } },
        ["not_found", "transaction_pending", "transaction_failed"],
      ),
    },
    "/v0/me/mints": {
      get: operation(
        "What the account has minted, newest first",
        [query("chain", text, "all when absent"), pageNumberQuery, pageSizeQuery],
        { total: integer, minted_nfts: { type: "array", items: mintedNft() } },
        [],
      ),
    },
    "/v0/me/contracts": {
      get: operation(
        "Product contracts of the account, newest first",
        [],
        { contracts: { type: "array", items: ownContract() } },
        [],
      ),
    },
    "/v0/reports/{report_type}": {
      get: operation(
        "How well the URIs behind tokens can be read",
        [path("report_type", { enum: ["uris"] })],
        { report: { type: "object" } },
        [],
      ),
    },
  };
}

function batch(item: Json, optional: readonly string[] = []): Json {
  return object({ ...place, tokens: { type: "array", minItems: 1, maxItems: 50, items: object(item, optional) } });
}

function createContract(): Json {
  const more = { type: { enum: ["erc721", "erc1155"], default: "erc721" }, metadata_updatable: { type: "boolean" } };
  const optional = { ...more, ...settings };
  return operation(
    "Deploy a contract in which the service mints for its account",
    [],
    {
      ...{ chain: text, transaction_hash: hash, transaction_external_url: text, owner_address: address },
      ...{ type: { enum: ["erc721", "erc1155"] }, name: text, symbol: text },
    },
    ["plan_limit_exceeded", "service_unavailable"],
    object({ chain: text, name: text, symbol: text, owner_address: address, ...optional }, Object.keys(optional)),
  );
}

function updateContract(): Json {
  const optional = {
    ...{ freeze_metadata: { type: "boolean" }, ...settings },
    exit_nftport: { type: "boolean", description: "the service gives its rights on the contract up, for good" },
  };
  return operation(
    "Change a product contract",
    [],
    {
      ...{ chain: text, transaction_hash: hash, transaction_external_url: text },
      freeze_metadata: { type: ["boolean", "null"] },
    },
    [...failures, "metadata_frozen"],
    object({ ...place, ...optional }, Object.keys(optional)),
  );
}

function easyAnswer(): Json {
  return { ...transaction, mint_to_address: address, name: text, description: text };
}

function easyFile(): Json {
  const made = operation(
    "Mint a file in the service's own contract",
    [
      chainQuery,
      query("name", text, "of the token", true),
      query("description", text, "of the token", true),
      query("mint_to_address", address, "who gets it", true),
    ],
    easyAnswer(),
    ["plan_limit_exceeded", "service_unavailable", "storage_full", "file_too_large"],
  );
  const schema = object({ file: { type: "string", contentMediaType: "application/octet-stream" } });
  return { ...made, requestBody: { required: true, content: { "multipart/form-data": { schema } } } };
}

function mintedNft(): Json {
  return object({
    ...{ chain: text, transaction_hash: hash, transaction_external_url: text, contract_name: nullableText },
    ...{ contract_address: address, type: { enum: ["erc721", "erc1155"] }, token_id: text, mint_to_address: address },
    ...{ metadata_uri: nullableText, quantity: integer, num_burned_or_transferred: integer },
    ...{ burned_transferred_amount: integer, metadata_frozen: { type: "boolean" }, mint_date: text },
  });
}

function ownContract(): Json {
  return object({
    ...{ name: text, symbol: text, transaction_hash: hash, transaction_external_url: text, chain: text, address },
    ...{ owner_address: address, creation_date: text, metadata_frozen: { type: "boolean" } },
    ...{ tokens_burnable: { type: "boolean" }, tokens_transferable: { type: "boolean" } },
    ...{ type: { enum: ["erc721", "erc1155"] }, royalties_share: integer, royalties_address: address },
    roles: { anyOf: [{ type: "array", items: role }, { type: "null" }] },
    exited_nftport: { type: "boolean" },
  });
}
