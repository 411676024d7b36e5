import * as z from "zod";
import {
  address,
  anyObject,
  chainQuery,
  date,
  hash,
  include,
  integer,
  type Json,
  nullableText,
  operation,
  path,
  query,
  text,
} from "./openapi-parts.ts";

/** Of a dry run only. */
const costMembers = {
  dry_run: z.literal(true).optional(),
  gas: integer.optional(),
  max_fee_per_gas: text.describe("wei").optional(),
  cost: z.number().describe("at the fees of now, in the chain's native token").optional(),
  max_cost: z.number().describe("at most").optional(),
  warnings: z.array(text).describe("what may not be meant, such as members that are ignored").optional(),
};
const planMembers = {
  idempotency_key: text.describe("deploy with this Idempotency-Key to get predicted_address").optional(),
  ...costMembers,
};
const ownCollection = z.object({
  name: text,
  symbol: text,
  transaction_hash: hash,
  transaction_external_url: text,
  chain: text,
  address,
  owner_address: address,
  creation_date: text,
  metadata_frozen: z.boolean(),
  max_supply: integer,
  team_reserve: integer,
  mint_price: z.number(),
  tokens_per_mint: integer,
  treasury_address: address,
  public_mint_start: text,
  base_uri: text,
  prereveal_token_uri: text,
  presale_mint_start: nullableText,
  presale_whitelisted_addresses: z.array(address),
  presale_merkle_root: nullableText,
  royalties_share: integer,
  royalties_address: address,
  merkle_proofs: z.record(z.string(), z.array(hash)).optional(),
});

const basisPoints = z.int().min(0).max(10_000);
/** Older spellings of members of both bodies. */
const olderSpellings = {
  public_mint_start_date: date.describe("older spelling of public_mint_start").optional(),
  presale_mint_start_date: date.describe("older spelling of presale_mint_start").optional(),
  royalty_share: integer.describe("older spelling of royalties_share").optional(),
  royalty_address: address.describe("older spelling of royalties_address").optional(),
};

const deployBody = z.object({
  chain: text,
  name: text,
  symbol: text,
  max_supply: z.int().min(1),
  mint_price: z.number().min(0).describe("in the chain's native token"),
  tokens_per_mint: z.int().min(1),
  owner_address: address,
  treasury_address: address,
  // The older spelling satisfies it too, which `required` cannot say.
  public_mint_start: date.optional(),
  team_reserve: z.int().min(0).default(0),
  presale_mint_price: z.number().min(0).optional(),
  presale_mint_start: date.optional(),
  presale_whitelisted_addresses: z.array(address).optional(),
  metadata_updatable: z.boolean().default(true),
  base_uri: text.optional(),
  prereveal_token_uri: text.optional(),
  royalties_share: basisPoints.describe("basis points").default(0),
  royalties_address: address.optional(),
  ...olderSpellings,
});

const updateBody = z.object({
  chain: text,
  contract_address: address,
  base_uri: text.describe("reveals; an empty text hides again").optional(),
  prereveal_token_uri: text.optional(),
  public_mint_start: date.optional(),
  presale_mint_start: date.optional(),
  presale_whitelisted_addresses: z.array(address).describe("replaces the whole list").optional(),
  royalties_share: basisPoints.describe("basis points").optional(),
  royalties_address: address.optional(),
  freeze_metadata: z.boolean().describe("true freezes for good").optional(),
  ...olderSpellings,
});

const deployAnswer = {
  chain: text,
  transaction_hash: hash.optional(),
  transaction_external_url: text.optional(),
  owner_address: address.optional(),
  name: text.optional(),
  symbol: text.optional(),
  predicted_address: address,
  ...planMembers,
};

const updateAnswer = {
  chain: text,
  transaction_hash: hash.optional(),
  transaction_external_url: text.optional(),
  contract_address: address.optional(),
  ...costMembers,
};

/** Deploying, changing and finding collections. */
export function collectionPaths(): Json {
  return {
    "/v0/contracts/collections": {
      post: operation(
        "Deploy a collection, or with dry_run say what that would do",
        [query("dry_run", z.boolean().default(false), "check and simulate; nothing is stored or spent")],
        deployAnswer,
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        deployBody,
      ),
      put: operation(
        "Change a collection: reveal, mint starts, presale list, royalties, freeze; or with dry_run say what that would do",
        [query("dry_run", z.boolean().default(false), "check and simulate; nothing is stored or spent")],
        updateAnswer,
        ["not_found", "metadata_frozen", "plan_limit_exceeded", "service_unavailable", "storage_full"],
        updateBody,
      ),
    },
    "/v0/me/contracts/collections": {
      get: operation(
        "Collections of the account, newest first",
        [chainQuery, include(["default", "merkle_proofs"])],
        { contracts: z.array(ownCollection) },
        [],
      ),
    },
    "/v0/me/contracts/abis/{contract_address}": {
      get: operation(
        "ABI of a collection of the account",
        [path("contract_address", address), chainQuery],
        { abi: z.array(anyObject) },
        ["not_found"],
      ),
    },
    "/v0/contracts/{transaction_hash}": {
      get: operation(
        "Find the contract that a transaction made or changed",
        [path("transaction_hash", hash), chainQuery],
        { chain: text, contract_address: address, transaction_hash: hash },
        ["not_found", "transaction_pending", "transaction_failed", "not_implemented"],
      ),
    },
  };
}
