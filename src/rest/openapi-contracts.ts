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
  dry_run: z.literal(true).describe("Only in the answer of a dry run: nothing was stored or spent.").optional(),
  gas: integer.describe("Estimated gas of the transaction. Only in a dry run.").optional(),
  max_fee_per_gas: text.describe("Maximum price per unit of gas, in wei. Only in a dry run.").optional(),
  cost: z.number().describe("Cost at current fees, in the chain's native token. Only in a dry run.").optional(),
  max_cost: z.number().describe("Maximum cost, in the chain's native token. Only in a dry run.").optional(),
  warnings: z
    .array(text)
    .describe("What is valid but possibly unintended, such as ignored members. Only in a dry run.")
    .optional(),
};
const planMembers = {
  idempotency_key: text
    .describe("Deploy with this `Idempotency-Key` to get `predicted_address`. Only in a dry run.")
    .optional(),
  ...costMembers,
};
export const sent = { transaction_hash: transactionHash, transaction_external_url: transactionUrl };
export const contractAnswers = {
  address: address.describe("Address of the contract."),
  owner: address.describe("Owner that the contract was deployed for, as sent."),
  name: text.describe("Name of the contract."),
  symbol: text.describe("Symbol of the contract."),
  royalties: integer.describe("Royalty on a sale in basis points: 500 is 5 %."),
  royaltiesAddress: address.describe("Address that receives royalties."),
};
/** Members of every contract of the account, of any kind. */
export const ownMembers = {
  name: contractAnswers.name,
  symbol: contractAnswers.symbol,
  ...sent,
  chain: text.describe("Name of the chain."),
  address: contractAnswers.address,
  owner_address: contractAnswers.owner,
  creation_date: text.describe("When the deployment was requested, in UTC without an offset, to microseconds."),
  metadata_frozen: z.boolean().describe("`true` if the metadata can never be changed again."),
};
const ownCollection = z.object({
  ...ownMembers,
  max_supply: integer.describe("Maximum number of tokens."),
  team_reserve: integer.describe("Tokens of the supply that only an admin can mint."),
  mint_price: z.number().describe("Price of a token in the public sale, in the chain's native token."),
  tokens_per_mint: integer.describe("Maximum number of tokens per mint."),
  treasury_address: address.describe("Address that receives the revenue."),
  public_mint_start: text.describe("Start of the public sale, in UTC without an offset, to seconds."),
  base_uri: text.describe("Prefix of token URIs, followed by the token id; empty until the reveal."),
  prereveal_token_uri: text.describe("URI of every token until the reveal; empty if there is none."),
  presale_mint_start: nullableText.describe(
    "Start of the presale, in UTC without an offset, to seconds; null if there is no presale.",
  ),
  presale_whitelisted_addresses: z.array(address).describe("Presale list, as sent, without duplicates."),
  presale_merkle_root: nullableText.describe(
    "Merkle root of the presale list, 64 hex digits without `0x`; null if the list is empty.",
  ),
  royalties_share: contractAnswers.royalties,
  royalties_address: contractAnswers.royaltiesAddress,
  merkle_proofs: z
    .record(z.string(), z.array(hash))
    .describe(
      "With `include=merkle_proofs`: the Merkle proof of each wallet of the presale list, keyed by its address in lower case, with checksum and as sent.",
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
    "Address that the collection will have. Send nothing there before `GET /v0/contracts/{transaction_hash}` answers 200.",
  ),
  ...planMembers,
};

const updateAnswer = {
  chain: chainAnswer,
  transaction_hash: transactionHash.optional(),
  transaction_external_url: transactionUrl.optional(),
  contract_address: address.describe("Address of the collection. Only in a dry run.").optional(),
  ...costMembers,
};
const dryRunQuery = query(
  "dry_run",
  z.boolean().default(false),
  "`true` validates and simulates the request; nothing is stored or spent. The default is `false`.",
);

export function collectionPaths(): Json {
  return {
    "/v0/contracts/collections": {
      post: operation(
        "Deploy a collection; with dry_run, get the expected result and cost",
        [dryRunQuery],
        deployAnswer,
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        z.object(bodyMembers(deployFields)),
      ),
      put: operation(
        "Change a collection: reveal, sale starts, presale list, royalties, freeze; with dry_run, get the expected result and cost",
        [dryRunQuery],
        updateAnswer,
        ["not_found", "metadata_frozen", "plan_limit_exceeded", "service_unavailable", "storage_full"],
        z.object(bodyMembers(updateFields)),
      ),
    },
    "/v0/me/contracts/collections": {
      get: operation("List the account's collections, newest first", [chainQuery, include("merkle_proofs")], {
        contracts: z.array(ownCollection).describe("Confirmed collections of the account on the chain, newest first."),
      }),
    },
    "/v0/me/contracts/abis/{contract_address}": {
      get: operation(
        "Get the ABI of a collection of the account",
        [contractPath, chainQuery],
        {
          abi: z
            .array(anyObject)
            .describe(
              "The ABI in Solidity's JSON format. Each function has its selector and each event its topic as `signature`.",
            ),
        },
        ["not_found"],
      ),
    },
    "/v0/contracts/{transaction_hash}": {
      get: operation(
        "Find the contract that a transaction created or changed",
        [transactionPath, chainQuery],
        { chain: chainAnswer, contract_address: contractAnswers.address, transaction_hash: transactionHash },
        ["not_found", "transaction_pending", "transaction_failed", "not_implemented"],
      ),
    },
  };
}
