import {
  address,
  chainQuery,
  date,
  hash,
  include,
  integer,
  type Json,
  nullableText,
  object,
  operation,
  path,
  query,
  text,
} from "./openapi-parts.ts";

/** Of a dry run only. */
const planMembers = {
  dry_run: { const: true },
  idempotency_key: { type: "string", description: "deploy with this Idempotency-Key to get predicted_address" },
  gas: integer,
  max_fee_per_gas: { type: "string", description: "wei" },
  cost: { type: "number", description: "at the fees of now, in the chain's native token" },
  max_cost: { type: "number", description: "at most" },
  warnings: { type: "array", items: text, description: "what may not be meant, such as members that are ignored" },
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

/** Deploying, changing and finding collections. */
export function collectionPaths(): Json {
  return {
    "/v0/contracts/collections": {
      post: operation(
        "Deploy a collection, or with dry_run say what that would do",
        [query("dry_run", { type: "boolean", default: false }, "check and simulate; nothing is stored or spent")],
        deployAnswer(),
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
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
        ["not_found", "metadata_frozen", "plan_limit_exceeded", "service_unavailable", "storage_full"],
        updateBody(),
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
  };
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
