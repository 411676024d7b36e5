import * as z from "zod";
import { deployFields, updateFields } from "../collections/deployment-input.ts";
import { bodyMembers } from "./bodies.ts";
import {
  address,
  anyObject,
  chainAnswer,
  chainQuery,
  contractPath,
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

/** Members that only a dry run has. */
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
/** A transaction and its block explorer link. */
export const sent = { transaction_hash: transactionHash, transaction_external_url: transactionUrl };
export const contractAnswers = {
  address: address.describe("Address of the contract."),
  owner: address.describe("Owner that the contract was deployed for, as it was sent."),
  name: text.describe("Name of the contract."),
  symbol: text.describe("Symbol of the contract."),
  royalties: integer.describe("Royalty of a sale in basis points: 500 is 5 %."),
  royaltiesAddress: address.describe("Address that royalties are paid to."),
};
/** Members of every contract of the account, of any kind. */
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

/** Deploying, updating and reading collections. */
export function collectionPaths(): Json {
  return {
    "/v0/contracts/collections": {
      post: operation(
        "Deploy a collection, or with dry_run say what that would do",
        [dryRunQuery],
        deployAnswer,
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        z.object(bodyMembers(deployFields)),
      ),
      put: operation(
        "Change a collection: reveal, mint starts, presale list, royalties, freeze; or with dry_run say what that would do",
        [dryRunQuery],
        updateAnswer,
        ["not_found", "metadata_frozen", "plan_limit_exceeded", "service_unavailable", "storage_full"],
        z.object(bodyMembers(updateFields)),
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
