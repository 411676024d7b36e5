import * as z from "zod";
import {
  address,
  anyObject,
  chainQuery,
  hash,
  integer,
  type Json,
  jsonContent,
  jsonSchemaOf,
  nullableText,
  operation,
  pageNumberQuery,
  pageSizeQuery,
  path,
  query,
  text,
} from "./openapi-parts.ts";

const failures = ["not_found", "plan_limit_exceeded", "service_unavailable"] as const;
const easyFailures = ["plan_limit_exceeded", "service_unavailable", "storage_full", "file_too_large"] as const;
const mintFailures = ["not_found", "transaction_pending", "transaction_failed"] as const;
const place = { chain: text, contract_address: address };
const transaction = { ...place, transaction_hash: hash, transaction_external_url: text };
const digits = z.string().regex(/^\d+$/);
const tokenId = z.union([digits, z.int().min(0)]);
const quantity = z.union([digits, z.int().min(1)]);
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
const easyAnswer = { ...transaction, mint_to_address: address, name: text, description: text };

const mintedNft = z.object({
  ...{ chain: text, transaction_hash: hash, transaction_external_url: text, contract_name: nullableText },
  ...{ contract_address: address, type: kind, token_id: text, mint_to_address: address },
  ...{ metadata_uri: nullableText, quantity: integer, num_burned_or_transferred: integer },
  ...{ burned_transferred_amount: integer, metadata_frozen: z.boolean(), mint_date: text },
});
const ownContract = z.object({
  ...{ name: text, symbol: text, transaction_hash: hash, transaction_external_url: text, chain: text, address },
  ...{ owner_address: address, creation_date: text, metadata_frozen: z.boolean() },
  ...{ tokens_burnable: z.boolean(), tokens_transferable: z.boolean(), type: kind },
  ...{ royalties_share: integer, royalties_address: address, roles: z.array(role).nullable() },
  exited_nftport: z.boolean(),
});

/** Product contracts and what the service mints, changes, burns and transfers in them. */
export function mintPaths(): Json {
  const act = (summary: string, body: z.ZodType, more: Record<string, z.ZodType> = {}) =>
    operation(summary, [], { ...transaction, ...more }, failures, body);
  return {
    "/v0/contracts": { post: createContract(), put: updateContract() },
    "/v0/mints/customizable": {
      post: act(
        "Mint a token to any recipient, exactly once",
        z.object({
          ...{ ...place, metadata_uri: text, mint_to_address: address },
          token_id: tokenId.describe("drawn when absent").optional(),
        }),
        { metadata_uri: text, mint_to_address: address },
      ),
      put: act(
        "Change or freeze the metadata URI of a token",
        z.object({
          ...{ ...place, token_id: tokenId },
          ...{ metadata_uri: text.optional(), freeze_metadata: z.boolean().optional() },
        }),
      ),
      delete: act("Burn a token that the contract's owner holds", z.object({ ...place, token_id: tokenId })),
    },
    "/v0/mints/customizable/batch": {
      post: act(
        "Mint tokens of an ERC-1155 contract in one transaction",
        batch({ mint_to_address: address, token_id: tokenId.optional(), metadata_uri: text, quantity }),
        { tokens: z.array(anyObject) },
      ),
      delete: act("Burn tokens that the contract's owner holds", batch({ token_id: tokenId, quantity })),
    },
    "/v0/mints/transfers": {
      post: act(
        "Transfer a token that the contract's owner holds",
        z.object({ ...place, token_id: tokenId, transfer_to_address: address }),
      ),
    },
    "/v0/mints/transfers/batch": {
      post: act(
        "Transfer tokens of an ERC-1155 contract that its owner holds",
        batch({ transfer_to_address: address, token_id: tokenId, quantity }),
      ),
    },
    "/v0/mints/easy/urls": {
      post: operation(
        "Mint a file by its link in the service's own contract",
        [],
        easyAnswer,
        easyFailures,
        z.object({ chain: text, name: text, description: text, file_url: text, mint_to_address: address }),
      ),
    },
    "/v0/mints/easy/files": { post: easyFile() },
    ...reads(),
  };
}

function reads(): Json {
  return {
    "/v0/mints/{transaction_hash}": {
      get: operation(
        "The token that a transaction minted",
        [path("transaction_hash", hash), chainQuery],
        { ...place, token_id: text },
        mintFailures,
      ),
    },
    "/v0/mints/batch/{transaction_hash}": {
      get: operation(
        "The tokens that a transaction minted",
        [path("transaction_hash", hash), chainQuery],
        { ...place, token_ids: z.array(text) },
        mintFailures,
      ),
    },
    "/v0/me/mints": {
      get: operation(
        "What the account has minted, newest first",
        [query("chain", text, "all when absent"), pageNumberQuery, pageSizeQuery],
        { total: integer, minted_nfts: z.array(mintedNft) },
        [],
      ),
    },
    "/v0/me/contracts": {
      get: operation("Product contracts of the account, newest first", [], { contracts: z.array(ownContract) }, []),
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

function batch(item: Record<string, z.ZodType>): z.ZodType {
  return z.object({ ...place, tokens: z.array(z.object(item)).min(1).max(50) });
}

function createContract(): Json {
  const names = { chain: text, name: text, symbol: text, owner_address: address };
  return operation(
    "Deploy a contract in which the service mints for its account",
    [],
    { ...names, transaction_hash: hash, transaction_external_url: text, type: kind },
    ["plan_limit_exceeded", "service_unavailable"],
    z.object({ ...names, type: kind.default("erc721"), metadata_updatable: z.boolean().optional(), ...settings }),
  );
}

function updateContract(): Json {
  return operation(
    "Change a product contract",
    [],
    { chain: text, transaction_hash: hash, transaction_external_url: text, freeze_metadata: z.boolean().nullable() },
    [...failures, "metadata_frozen"],
    z.object({
      ...{ ...place, freeze_metadata: z.boolean().optional(), ...settings },
      exit_nftport: z.boolean().describe("the service gives its rights on the contract up, for good").optional(),
    }),
  );
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
    easyAnswer,
    easyFailures,
  );
  const { content } = jsonContent(jsonSchemaOf(z.object({ file: text }))) as { content: Json };
  return { ...made, requestBody: { required: true, content: { "multipart/form-data": content["application/json"] } } };
}
