import * as z from "zod";
import {
  address,
  anyObject,
  chainAnswer,
  chainInput,
  chainQuery,
  contractPath,
  date,
  dateFormat,
  hash,
  include,
  integer,
  type Json,
  nullableText,
  operation,
  query,
  text,
  transactionHash,
  transactionPath,
  transactionUrl,
} from "./openapi-parts.ts";

/** Of a dry run only. */
const costMembers = {
  dry_run: z.literal(true).describe("Present in the answer of a dry run: nothing was stored or spent.").optional(),
  gas: integer.describe("Gas that the transaction would take; in a dry run.").optional(),
  max_fee_per_gas: text.describe("Highest price of a gas, in wei; in a dry run.").optional(),
  cost: z.number().describe("Cost at the fees of now, in the chain's native token; in a dry run.").optional(),
  max_cost: z.number().describe("Cost at most, in the chain's native token; in a dry run.").optional(),
  warnings: z
    .array(text)
    .describe("What is allowed but may not be meant, such as members that are ignored; in a dry run.")
    .optional(),
};
const planMembers = {
  idempotency_key: text
    .describe("Deploy with this `Idempotency-Key` to get `predicted_address`; in a dry run.")
    .optional(),
  ...costMembers,
};
/** A transaction and where to look at it. */
export const sent = { transaction_hash: transactionHash, transaction_external_url: transactionUrl };
const basisPoints = z.int().min(0).max(10_000);
/** Inputs and answers that collections and product contracts share. */
export const contractInputs = {
  address: address.describe("Address of the contract, in any letter case."),
  royalties: basisPoints.describe("Royalty of a sale in basis points, 0 to 10,000: 500 is 5 %; the default is 0."),
  newRoyalties: basisPoints.describe("New royalty of a sale in basis points, 0 to 10,000: 500 is 5 %."),
  royaltiesAddress: address.describe("Address that royalties are paid to; the default is the owner."),
  newRoyaltiesAddress: address.describe("New address that royalties are paid to."),
};
export const contractAnswers = {
  address: address.describe("Address of the contract."),
  owner: address.describe("Owner that the contract was deployed for, as it was sent."),
  name: text.describe("Name of the contract."),
  symbol: text.describe("Symbol of the contract."),
  royalties: integer.describe("Royalty of a sale in basis points: 500 is 5 %."),
  royaltiesAddress: address.describe("Address that royalties are paid to."),
};
/** Of every contract of the account, whatever its kind. */
export const ownMembers = {
  name: contractAnswers.name,
  symbol: contractAnswers.symbol,
  ...sent,
  chain: text.describe("Name of the chain."),
  address: contractAnswers.address,
  owner_address: contractAnswers.owner,
  creation_date: text.describe("When the deployment was requested: UTC without an offset, to microseconds."),
  metadata_frozen: z.boolean().describe("`true` when the metadata can never be changed again."),
};
const ownCollection = z.object({
  ...ownMembers,
  max_supply: integer.describe("Most tokens that there can ever be."),
  team_reserve: integer.describe("Tokens of the supply that only an admin mints."),
  mint_price: z.number().describe("Price of a token in the public sale, in the chain's native token."),
  tokens_per_mint: integer.describe("Most tokens in one mint."),
  treasury_address: address.describe("Address that the revenue goes to."),
  public_mint_start: text.describe("Start of the public sale: UTC without an offset, to seconds."),
  base_uri: text.describe("A token's URI is this text and its id; empty before the reveal."),
  prereveal_token_uri: text.describe("URI of every token before the reveal; empty when there is none."),
  presale_mint_start: nullableText.describe(
    "Start of the presale: UTC without an offset, to seconds; null: no presale.",
  ),
  presale_whitelisted_addresses: z.array(address).describe("Presale list, as it was sent and without repeats."),
  presale_merkle_root: nullableText.describe(
    "Merkle root of the presale list, 64 hex digits without `0x`; null: an empty list.",
  ),
  royalties_share: contractAnswers.royalties,
  royalties_address: contractAnswers.royaltiesAddress,
  merkle_proofs: z
    .record(z.string(), z.array(hash))
    .describe(
      "With `include=merkle_proofs`: the proof of each wallet of the presale list, by its address in lower case, with checksum and as it was sent.",
    )
    .optional(),
});

/** Older spellings of members of both bodies. */
const olderSpellings = {
  public_mint_start_date: date.describe("Older spelling of `public_mint_start`.").optional(),
  presale_mint_start_date: date.describe("Older spelling of `presale_mint_start`.").optional(),
  royalty_share: integer.describe("Older spelling of `royalties_share`.").optional(),
  royalty_address: address.describe("Older spelling of `royalties_address`.").optional(),
};
const presaleList = z.array(address);

const deployBody = z.object({
  chain: chainInput,
  name: text.describe("Name of the collection, not empty; it cannot be changed later."),
  symbol: text.describe("Symbol of the collection, not empty; it cannot be changed later."),
  max_supply: z
    .int()
    .min(1)
    .describe(
      "Most tokens that there can ever be, 1 to 4,294,967,295; a plan may allow fewer. It cannot be changed later.",
    ),
  mint_price: z
    .number()
    .min(0)
    .describe(
      "Price of a token in the public sale, in the chain's native token, to 18 decimals; it cannot be changed later.",
    ),
  tokens_per_mint: z.int().min(1).describe("Most tokens in one mint, 1 to `max_supply`; it cannot be changed later."),
  owner_address: address.describe("Wallet that owns the collection, in any letter case; no address of this service."),
  treasury_address: address.describe(
    "Wallet or contract that the revenue goes to; a contract has to take payments. It cannot be changed later.",
  ),
  // The older spelling satisfies it too, which `required` cannot say.
  public_mint_start: date
    .describe(`Start of the public sale, ${dateFormat}; required, under this name or its older spelling.`)
    .optional(),
  team_reserve: z
    .int()
    .min(0)
    .default(0)
    .describe(
      "Tokens of the supply that only an admin mints, 0 to `max_supply`; the default is 0. It cannot be changed later.",
    ),
  presale_mint_price: z
    .number()
    .min(0)
    .describe(
      "Price of a token in the presale, in the chain's native token; the default is `mint_price`. It cannot be changed later.",
    )
    .optional(),
  presale_mint_start: date.describe(`Start of the presale, ${dateFormat}; without it there is no presale.`).optional(),
  presale_whitelisted_addresses: presaleList
    .describe("Wallets that may mint in the presale, 100,000 at most, in any letter case; repeats are dropped.")
    .optional(),
  metadata_updatable: z
    .boolean()
    .default(true)
    .describe("`false` freezes the metadata from the beginning, which needs a `base_uri`; the default is `true`."),
  base_uri: text
    .describe(
      "A token's URI is this text and its id, so end it with a slash; without it the collection is not revealed yet.",
    )
    .optional(),
  prereveal_token_uri: text.describe("URI of every token before the reveal.").optional(),
  royalties_share: contractInputs.royalties.default(0),
  royalties_address: contractInputs.royaltiesAddress.optional(),
  ...olderSpellings,
});

const updateBody = z.object({
  chain: chainInput,
  contract_address: contractInputs.address,
  base_uri: text
    .describe("A token's URI is this text and its id; it reveals the collection, and an empty text hides it again.")
    .optional(),
  prereveal_token_uri: text.describe("New URI of every token before the reveal.").optional(),
  public_mint_start: date.describe(`New start of the public sale, ${dateFormat}.`).optional(),
  presale_mint_start: date.describe(`New start of the presale, ${dateFormat}.`).optional(),
  presale_whitelisted_addresses: presaleList
    .describe(
      "New presale list, 100,000 wallets at most; it replaces the whole list, and an empty one lets nobody mint.",
    )
    .optional(),
  royalties_share: contractInputs.newRoyalties.optional(),
  royalties_address: contractInputs.newRoyaltiesAddress.optional(),
  freeze_metadata: z
    .boolean()
    .describe("`true` freezes the metadata for good, after which no update is possible; `false` changes nothing.")
    .optional(),
  ...olderSpellings,
});

const deployAnswer = {
  chain: chainAnswer,
  transaction_hash: transactionHash.optional(),
  transaction_external_url: transactionUrl.optional(),
  owner_address: contractAnswers.owner.optional(),
  name: contractAnswers.name.optional(),
  symbol: contractAnswers.symbol.optional(),
  predicted_address: address.describe(
    "Address that the collection will have; send nothing to it before the look-up by the transaction's hash answers 200.",
  ),
  ...planMembers,
};

const updateAnswer = {
  chain: chainAnswer,
  transaction_hash: transactionHash.optional(),
  transaction_external_url: transactionUrl.optional(),
  contract_address: address.describe("Address of the collection; in a dry run.").optional(),
  ...costMembers,
};
const dryRunQuery = query(
  "dry_run",
  z.boolean().default(false),
  "`true` checks and simulates the request; nothing is stored or spent. The default is `false`.",
);

/** Deploying, changing and finding collections. */
export function collectionPaths(): Json {
  return {
    "/v0/contracts/collections": {
      post: operation(
        "Deploy a collection, or with dry_run say what that would do",
        [dryRunQuery],
        deployAnswer,
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        deployBody,
      ),
      put: operation(
        "Change a collection: reveal, mint starts, presale list, royalties, freeze; or with dry_run say what that would do",
        [dryRunQuery],
        updateAnswer,
        ["not_found", "metadata_frozen", "plan_limit_exceeded", "service_unavailable", "storage_full"],
        updateBody,
      ),
    },
    "/v0/me/contracts/collections": {
      get: operation("Collections of the account, newest first", [chainQuery, include("merkle_proofs")], {
        contracts: z.array(ownCollection).describe("Confirmed collections of the account on the chain, newest first."),
      }),
    },
    "/v0/me/contracts/abis/{contract_address}": {
      get: operation(
        "ABI of a collection of the account",
        [contractPath, chainQuery],
        {
          abi: z
            .array(anyObject)
            .describe("Solidity ABI; each function and event has its selector or topic as `signature`."),
        },
        ["not_found"],
      ),
    },
    "/v0/contracts/{transaction_hash}": {
      get: operation(
        "Find the contract that a transaction made or changed",
        [transactionPath, chainQuery],
        { chain: chainAnswer, contract_address: contractAnswers.address, transaction_hash: transactionHash },
        ["not_found", "transaction_pending", "transaction_failed", "not_implemented"],
      ),
    },
  };
}
