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
/** A transaction and where to look at it. */
const sent = { transaction_hash: hash, transaction_external_url: text };
/** Of every contract of the account, whatever its kind. */
const ownMembers = {
  name: text,
  symbol: text,
  ...sent,
  chain: text,
  address,
  owner_address: address,
  creation_date: text,
  metadata_frozen: z.boolean(),
};
const ownCollection = z.object({
  ...ownMembers,
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
      get: operation("Collections of the account, newest first", [chainQuery, include("merkle_proofs")], {
        contracts: z.array(ownCollection),
      }),
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

const failures = ["not_found", "plan_limit_exceeded", "service_unavailable"] as const;
const place = { chain: text, contract_address: address };
const transaction = { ...place, ...sent };
const minted = { metadata_uri: text, mint_to_address: address };
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
      post: change(
        "Mint a token to any recipient, exactly once",
        { ...place, ...minted, token_id: tokenId.describe("drawn when absent").optional() },
        minted,
      ),
      put: change("Change or freeze the metadata URI of a token", {
        ...place,
        token_id: tokenId,
        metadata_uri: text.optional(),
        freeze_metadata: z.boolean().optional(),
      }),
      delete: change("Burn a token that the contract's owner holds", { ...place, token_id: tokenId }),
    },
    "/v0/mints/customizable/batch": {
      post: change(
        "Mint tokens of an ERC-1155 contract in one transaction",
        batch({ mint_to_address: address, token_id: tokenId.optional(), metadata_uri: text, quantity }),
        { tokens: z.array(anyObject) },
      ),
      delete: change("Burn tokens that the contract's owner holds", batch({ token_id: tokenId, quantity })),
    },
    "/v0/mints/transfers": {
      post: change("Transfer a token that the contract's owner holds", {
        ...place,
        token_id: tokenId,
        transfer_to_address: address,
      }),
    },
    "/v0/mints/transfers/batch": {
      post: change(
        "Transfer tokens of an ERC-1155 contract that its owner holds",
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
      get: ofTransaction("The token that a transaction minted", { ...place, token_id: text }),
    },
    "/v0/mints/batch/{transaction_hash}": {
      get: ofTransaction("The tokens that a transaction minted", { ...place, token_ids: z.array(text) }),
    },
    "/v0/me/mints": {
      get: operation(
        "What the account has minted, newest first",
        [query("chain", text, "all when absent"), pageNumberQuery, pageSizeQuery],
        { total: integer, minted_nfts: z.array(mintedNft()) },
      ),
    },
    "/v0/me/contracts": {
      get: operation("Product contracts of the account, newest first", [], { contracts: z.array(ownContract()) }),
    },
    "/v0/reports/{report_type}": {
      get: operation("How well the URIs behind tokens can be read", [path("report_type", z.enum(["uris"]))], {
        report: anyObject,
      }),
    },
  };
}

/** A transaction in a product contract; `more` is in the answer beside it. */
function change(summary: string, body: Members, more: Members = {}): Json {
  return operation(summary, [], { ...transaction, ...more }, failures, z.object(body));
}

/** What became of a transaction. */
function ofTransaction(summary: string, members: Members): Json {
  const parameters = [path("transaction_hash", hash), chainQuery];
  return operation(summary, parameters, members, ["not_found", "transaction_pending", "transaction_failed"]);
}

function batch(item: Members): Members {
  return { ...place, tokens: z.array(z.object(item)).min(1).max(50) };
}

function createContract(): Json {
  const more = { type: kind.default("erc721"), metadata_updatable: z.boolean().optional() };
  return operation(
    "Deploy a contract in which the service mints for its account",
    [],
    { chain: text, ...sent, owner_address: address, type: kind, name: text, symbol: text },
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
    { chain: text, ...sent, freeze_metadata: z.boolean().nullable() },
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
    chain: text,
    ...sent,
    contract_name: nullableText,
    contract_address: address,
    type: kind,
    token_id: text,
    mint_to_address: address,
    metadata_uri: nullableText,
    quantity: integer,
    num_burned_or_transferred: integer,
    burned_transferred_amount: integer,
    metadata_frozen: z.boolean(),
    mint_date: text,
  });
}

function ownContract(): z.ZodType {
  return z.object({
    ...ownMembers,
    tokens_burnable: z.boolean(),
    tokens_transferable: z.boolean(),
    type: kind,
    royalties_share: integer,
    royalties_address: address,
    roles: z.array(role).nullable(),
    exited_nftport: z.boolean(),
  });
}
