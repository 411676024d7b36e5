import * as z from "zod";
import { tokenRequests } from "../products/check-tokens.ts";
import { contractChangeFields, contractFields } from "../products/create-contract.ts";
import { easyFields, easyUrlFields } from "../products/easy-mint.ts";
import type { Fields } from "../requests/fields.ts";
import { bodyMembers, queryParameters } from "./bodies.ts";
import { contractAnswers, ownMembers, sent } from "./openapi-contracts.ts";
import {
  address,
  anyObject,
  chainAnswer,
  chainQuery,
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
  transactionPath,
} from "./openapi-parts.ts";

const failures = ["not_found", "plan_limit_exceeded", "service_unavailable"] as const;
const placeAnswer = { chain: chainAnswer, contract_address: contractAnswers.address };
const transaction = { ...placeAnswer, ...sent };
const mintedAnswer = {
  metadata_uri: text.describe("URI of the token's metadata, as sent."),
  mint_to_address: address.describe("Recipient of the token, as sent."),
};
const kind = z.enum(["erc721", "erc1155"]).describe("Token standard of the contract.");

/** Product contracts, and minting, updating, burning and transferring tokens in them. */
export function mintPaths(): Json {
  return {
    "/v0/contracts": { post: createContract(), put: updateContract() },
    "/v0/mints/customizable": {
      post: change("Mint a token to any recipient, exactly once", tokenRequests.mint, mintedAnswer),
      put: change("Change or freeze the metadata URI of a token", tokenRequests.update),
      delete: change("Burn a token owned by the contract's owner", tokenRequests.burn),
    },
    "/v0/mints/customizable/batch": {
      post: change("Mint tokens of an ERC-1155 contract in one transaction", tokenRequests.mintBatch, {
        tokens: z.array(anyObject).describe("The tokens, as sent."),
      }),
      delete: change("Burn tokens owned by the contract's owner", tokenRequests.burnBatch),
    },
    "/v0/mints/transfers": {
      post: change("Transfer a token owned by the contract's owner", tokenRequests.transfer),
    },
    "/v0/mints/transfers/batch": {
      post: change(
        "Transfer tokens of an ERC-1155 contract owned by the contract's owner",
        tokenRequests.transferBatch,
      ),
    },
    "/v0/mints/easy/urls": {
      post: operation(
        "Mint a token from a file URL in the service's own contract",
        [],
        easyAnswer(),
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        z.object(bodyMembers(easyUrlFields)),
      ),
    },
    "/v0/mints/easy/files": { post: easyFile() },
    "/v0/mints/{transaction_hash}": {
      get: ofTransaction("Find the token that a transaction minted", {
        ...placeAnswer,
        token_id: text.describe("Id of the token, a decimal number as a string."),
      }),
    },
    "/v0/mints/batch/{transaction_hash}": {
      get: ofTransaction("Find the tokens that a transaction minted", {
        ...placeAnswer,
        token_ids: z.array(text).describe("Ids of the tokens, decimal numbers as strings."),
      }),
    },
    "/v0/me/mints": {
      get: operation(
        "List the account's mints, newest first",
        [
          query("chain", text, "Name of the chain. If omitted, mints on all chains are listed."),
          pageNumberQuery,
          pageSizeQuery,
        ],
        {
          total: integer.describe("Number of tokens on all pages."),
          minted_nfts: z.array(mintedNft()).describe("Tokens, newest mint first."),
        },
      ),
    },
    "/v0/me/contracts": {
      get: operation("List the account's product contracts, newest first", [], {
        contracts: z.array(ownContract()).describe("Confirmed product contracts, newest first; up to 1,000."),
      }),
    },
    "/v0/reports/{report_type}": {
      get: operation(
        "Count which token URIs can be read",
        [path("report_type", z.enum(["uris"]), "The report; only `uris` exists.")],
        {
          report: anyObject.describe(
            "`metadata_uri_stats`, `image_uri_stats` and `animation_uri_stats`: for each type of storage, such as `ipfs_cid` or `http_centralized`, the number of URIs that could and could not be read.",
          ),
        },
      ),
    },
  };
}

/** An operation that sends a transaction to a product contract; `more` are further members of the answer. */
function change(summary: string, body: Fields, more: Members = {}): Json {
  return operation(summary, [], { ...transaction, ...more }, failures, z.object(bodyMembers(body)));
}

/** An operation that reads the outcome of a transaction. */
function ofTransaction(summary: string, members: Members): Json {
  const parameters = [transactionPath, chainQuery];
  return operation(summary, parameters, members, ["not_found", "transaction_pending", "transaction_failed"]);
}

function createContract(): Json {
  return operation(
    "Deploy a contract in which the service mints for the account",
    [],
    {
      chain: chainAnswer,
      ...sent,
      owner_address: contractAnswers.owner,
      type: kind,
      name: contractAnswers.name,
      symbol: contractAnswers.symbol,
    },
    ["plan_limit_exceeded", "service_unavailable"],
    z.object(bodyMembers(contractFields)),
  );
}

function updateContract(): Json {
  return operation(
    "Change a product contract",
    [],
    {
      chain: chainAnswer,
      ...sent,
      freeze_metadata: z.boolean().nullable().describe("As sent; null if it was omitted."),
    },
    [...failures, "metadata_frozen"],
    z.object(bodyMembers(contractChangeFields)),
  );
}

function easyAnswer(): Members {
  return {
    ...transaction,
    mint_to_address: mintedAnswer.mint_to_address,
    name: text.describe("Name of the token."),
    description: text.describe("Description of the token."),
  };
}

function easyFile(): Json {
  const made = operation(
    "Mint a token from a file in the service's own contract",
    queryParameters(easyFields),
    easyAnswer(),
    ["plan_limit_exceeded", "service_unavailable", "storage_full", "file_too_large"],
  );
  const file = text.meta({
    contentMediaType: "application/octet-stream",
    description: "The file, up to 20 MiB unless the operator set another limit.",
  });
  const schema = jsonSchemaOf(z.object({ file }));
  return { ...made, requestBody: { required: true, content: { "multipart/form-data": { schema } } } };
}

function mintedNft(): z.ZodType {
  const moved = "Units of this token that later requests burned or transferred";
  return z.object({
    chain: text.describe("Name of the chain."),
    ...sent,
    contract_name: nullableText.describe("Name of the contract; null while no node of the chain answers."),
    contract_address: contractAnswers.address,
    type: kind,
    token_id: text.describe("Id of the token, a decimal number as a string."),
    mint_to_address: mintedAnswer.mint_to_address,
    metadata_uri: nullableText.describe("URI with which the token was minted; null if there was none."),
    quantity: integer.describe("Number of units minted; 1 for ERC-721."),
    num_burned_or_transferred: integer.describe(`${moved}.`),
    burned_transferred_amount: integer.describe(`${moved}; the same value.`),
    metadata_frozen: z.boolean().describe("`true` if a request froze the token's URI."),
    mint_date: text.describe("When the mint was requested, in UTC without an offset, to microseconds."),
  });
}

function ownContract(): z.ZodType {
  return z.object({
    ...ownMembers,
    tokens_burnable: z.boolean().describe("`true` if tokens can be burned."),
    tokens_transferable: z.boolean().describe("`true` if tokens can be transferred."),
    type: kind,
    royalties_share: contractAnswers.royalties,
    royalties_address: contractAnswers.royaltiesAddress,
    roles: z
      .array(z.object(bodyMembers(contractFields.roles.item ?? {})))
      .nullable()
      .describe("Roles that were given by requests; null if there are none."),
    exited_nftport: z.boolean().describe("`true` if the service has given up its rights in the contract."),
  });
}
