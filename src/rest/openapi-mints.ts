import * as z from "zod";
import {
  address,
  anyObject,
  chainQuery,
  hash,
  integer,
  type Json,
  jsonSchemaOf,
  type Members,
  nullableText,
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
const tokenId = z.union([z.string().regex(/^\d+$/), z.int().min(0)]);
const quantity = z.union([z.string().regex(/^\d+$/), z.int().min(1)]);
const kind = z.enum(["erc721", "erc1155"]);
const role = z.object({
  role: z.enum(["mint", "update_contract", "update_token", "burn", "transfer"]),
  addresses: z.array(address).optional(),
  freeze: z.boolean().optional(),
});
const settings = {
  base_uri: text.optional(),
  royalties_share: z.int().min(0).max(10_000).describe("basis points").optional(),
  royalties_address: address.optional(),
  roles: z.array(role).optional(),
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
        z.object({
          ...{ ...place, metadata_uri: text, mint_to_address: address },
          token_id: tokenId.describe("drawn when absent").optional(),
        }),
      ),
      put: operation(
        "Change or freeze the metadata URI of a token",
        [],
        transaction,
        failures,
        z.object({
          ...{ ...place, token_id: tokenId },
          ...{ metadata_uri: text.optional(), freeze_metadata: z.boolean().optional() },
        }),
      ),
      delete: operation(
        "Burn a token that the contract's owner holds",
        [],
        transaction,
        failures,
        z.object({ ...place, token_id: tokenId }),
      ),
    },
    "/v0/mints/customizable/batch": {
      post: operation(
        "Mint tokens of an ERC-1155 contract in one transaction",
        [],
        { ...transaction, tokens: z.array(anyObject) },
        failures,
        batch({ mint_to_address: address, token_id: tokenId.optional(), metadata_uri: text, quantity }),
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
        z.object({ ...place, token_id: tokenId, transfer_to_address: address }),
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
        z.object({ chain: text, name: text, description: text, file_url: text, mint_to_address: address }),
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
        { ...place, token_ids: z.array(text) },
        ["not_found", "transaction_pending", "transaction_failed"],
      ),
    },
    "/v0/me/mints": {
      get: operation(
        "What the account has minted, newest first",
        [query("chain", text, "all when absent"), pageNumberQuery, pageSizeQuery],
        { total: integer, minted_nfts: z.array(mintedNft()) },
        [],
      ),
    },
    "/v0/me/contracts": {
      get: operation("Product contracts of the account, newest first", [], { contracts: z.array(ownContract()) }, []),
    },
    "/v0/reports/{report_type}": {
      get: operation(
        "How well the URIs behind tokens can be read",
        [path("report_type", z.enum(["uris"]))],
        { report: anyObject },
        [],
      ),
    },
  };
}

function batch(item: Members): z.ZodType {
  return z.object({ ...place, tokens: z.array(z.object(item)).min(1).max(50) });
}

function createContract(): Json {
  const more = { type: kind.default("erc721"), metadata_updatable: z.boolean().optional() };
  return operation(
    "Deploy a contract in which the service mints for its account",
    [],
    {
      ...{ chain: text, transaction_hash: hash, transaction_external_url: text, owner_address: address },
      ...{ type: kind, name: text, symbol: text },
    },
    ["plan_limit_exceeded", "service_unavailable"],
    z.object({ chain: text, name: text, symbol: text, owner_address: address, ...more, ...settings }),
  );
}

function updateContract(): Json {
  const optional = {
    ...{ freeze_metadata: z.boolean().optional(), ...settings },
    exit_nftport: z.boolean().describe("the service gives its rights on the contract up, for good").optional(),
  };
  return operation(
    "Change a product contract",
    [],
    {
      ...{ chain: text, transaction_hash: hash, transaction_external_url: text },
      freeze_metadata: z.boolean().nullable(),
    },
    [...failures, "metadata_frozen"],
    z.object({ ...place, ...optional }),
  );
}

function easyAnswer(): Members {
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
  const schema = jsonSchemaOf(z.object({ file: text.meta({ contentMediaType: "application/octet-stream" }) }));
  return { ...made, requestBody: { required: true, content: { "multipart/form-data": { schema } } } };
}

function mintedNft(): z.ZodType {
  return z.object({
    ...{ chain: text, transaction_hash: hash, transaction_external_url: text, contract_name: nullableText },
    ...{ contract_address: address, type: kind, token_id: text, mint_to_address: address },
    ...{ metadata_uri: nullableText, quantity: integer, num_burned_or_transferred: integer },
    ...{ burned_transferred_amount: integer, metadata_frozen: z.boolean(), mint_date: text },
  });
}

function ownContract(): z.ZodType {
  return z.object({
    ...{ name: text, symbol: text, transaction_hash: hash, transaction_external_url: text, chain: text, address },
    ...{ owner_address: address, creation_date: text, metadata_frozen: z.boolean() },
    ...{ tokens_burnable: z.boolean(), tokens_transferable: z.boolean() },
    ...{ type: kind, royalties_share: integer, royalties_address: address },
    roles: z.array(role).nullable(),
    exited_nftport: z.boolean(),
  });
}
