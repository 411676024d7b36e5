import * as z from "zod";
import { contractAnswers, contractInputs, ownMembers, sent } from "./openapi-contracts.ts";
import {
  address,
  anyObject,
  chainAnswer,
  chainInput,
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
const place = { chain: chainInput, contract_address: contractInputs.address };
const placeAnswer = { chain: chainAnswer, contract_address: contractAnswers.address };
const transaction = { ...placeAnswer, ...sent };
const receiver = "in any letter case, not the zero address";
const minted = {
  metadata_uri: text.describe(
    "URI of the token's metadata, 2,048 bytes at most; `ipfs://` and a CID takes the least gas.",
  ),
  mint_to_address: address.describe(`Receiver of the token, ${receiver}.`),
};
const mintedAnswer = {
  metadata_uri: text.describe("URI of the token's metadata, as it was sent."),
  mint_to_address: address.describe("Receiver of the token, as it was sent."),
};
const transferTo = address.describe(`Receiver of the token, ${receiver}.`);
const anyTokenId = z.union([z.string().regex(/^\d+$/), z.int().min(0)]);
const tokenId = anyTokenId.describe("Token id, 0 to 2^256 - 1, as a text or a number; send large ones as text.");
const newTokenId = anyTokenId.describe(
  "Token id, 0 to 2^256 - 1, as a text or a number; without it a random one of 128 bits is drawn.",
);
const quantity = z
  .union([z.string().regex(/^\d+$/), z.int().min(1)])
  .describe("How many of the token, 1 or more, as a text or a number.");
const kind = z.enum(["erc721", "erc1155"]).describe("Token standard of the contract.");
const role = z.object({
  role: z
    .enum(["mint", "update_contract", "update_token", "burn", "transfer"])
    .describe("What its holders may do in the contract."),
  addresses: z.array(address).describe("Holders of the role; those of all lists are 100 at most.").optional(),
  freeze: z.boolean().describe("`true`: the list can never be changed again; the default is `false`.").optional(),
});
const settings = {
  base_uri: text.describe("Text that the contract puts in front of each token's URI, 2,048 bytes at most.").optional(),
  royalties_address: contractInputs.royaltiesAddress.optional(),
  roles: z.array(role).describe("Lists of roles, 20 at most and each role once.").optional(),
};

/** Product contracts and what the service mints, changes, burns and transfers in them. */
export function mintPaths(): Json {
  return {
    "/v0/contracts": { post: createContract(), put: updateContract() },
    "/v0/mints/customizable": {
      post: change(
        "Mint a token to any recipient, exactly once",
        { ...place, ...minted, token_id: newTokenId.optional() },
        mintedAnswer,
      ),
      put: change("Change or freeze the metadata URI of a token", {
        ...place,
        token_id: tokenId,
        metadata_uri: text
          .describe(
            "New URI of the token's metadata, 2,048 bytes at most; without it the URI stays, and has to be frozen.",
          )
          .optional(),
        freeze_metadata: z
          .boolean()
          .describe("`true` freezes the token's URI for good; the default is `false`.")
          .optional(),
      }),
      delete: change("Burn a token that the contract's owner holds", { ...place, token_id: tokenId }),
    },
    "/v0/mints/customizable/batch": {
      post: change(
        "Mint tokens of an ERC-1155 contract in one transaction",
        batch({
          mint_to_address: minted.mint_to_address,
          token_id: newTokenId.optional(),
          metadata_uri: minted.metadata_uri,
          quantity,
        }),
        { tokens: z.array(anyObject).describe("The tokens, as they were sent.") },
      ),
      delete: change("Burn tokens that the contract's owner holds", batch({ token_id: tokenId, quantity })),
    },
    "/v0/mints/transfers": {
      post: change("Transfer a token that the contract's owner holds", {
        ...place,
        token_id: tokenId,
        transfer_to_address: transferTo,
      }),
    },
    "/v0/mints/transfers/batch": {
      post: change(
        "Transfer tokens of an ERC-1155 contract that its owner holds",
        batch({ transfer_to_address: transferTo, token_id: tokenId, quantity }),
      ),
    },
    "/v0/mints/easy/urls": {
      post: operation(
        "Mint a file by its link in the service's own contract",
        [],
        easyAnswer(),
        ["plan_limit_exceeded", "service_unavailable", "storage_full"],
        z.object({
          chain: chainInput,
          ...easyInputs,
          file_url: text.describe("Link to the file; it becomes `image` of the metadata."),
          mint_to_address: minted.mint_to_address,
        }),
      ),
    },
    "/v0/mints/easy/files": { post: easyFile() },
    "/v0/mints/{transaction_hash}": {
      get: ofTransaction("The token that a transaction minted", {
        ...placeAnswer,
        token_id: text.describe("Id of the token, a decimal number as text."),
      }),
    },
    "/v0/mints/batch/{transaction_hash}": {
      get: ofTransaction("The tokens that a transaction minted", {
        ...placeAnswer,
        token_ids: z.array(text).describe("Ids of the tokens, decimal numbers as text."),
      }),
    },
    "/v0/me/mints": {
      get: operation(
        "What the account has minted, newest first",
        [
          query("chain", text, "Name of the chain; without it the mints on all chains are listed."),
          pageNumberQuery,
          pageSizeQuery,
        ],
        {
          total: integer.describe("Tokens on all pages."),
          minted_nfts: z.array(mintedNft()).describe("Tokens, newest mint first."),
        },
      ),
    },
    "/v0/me/contracts": {
      get: operation("Product contracts of the account, newest first", [], {
        contracts: z.array(ownContract()).describe("Confirmed product contracts, newest first; 1,000 at most."),
      }),
    },
    "/v0/reports/{report_type}": {
      get: operation(
        "How well the URIs behind tokens can be read",
        [path("report_type", z.enum(["uris"]), "Which report: `uris` is the only one.")],
        {
          report: anyObject.describe(
            "`metadata_uri_stats`, `image_uri_stats` and `animation_uri_stats`: for each kind of storage, such as `ipfs_cid` or `http_centralized`, how many URIs could and could not be read.",
          ),
        },
      ),
    },
  };
}

/** A transaction in a product contract; `more` is in the answer beside it. */
function change(summary: string, body: Members, more: Members = {}): Json {
  return operation(summary, [], { ...transaction, ...more }, failures, z.object(body));
}

/** What became of a transaction. */
function ofTransaction(summary: string, members: Members): Json {
  const parameters = [transactionPath, chainQuery];
  return operation(summary, parameters, members, ["not_found", "transaction_pending", "transaction_failed"]);
}

function batch(item: Members): Members {
  return { ...place, tokens: z.array(z.object(item)).min(1).max(50).describe("The tokens, 1 to 50.") };
}

function createContract(): Json {
  const more = {
    type: kind.default("erc721").describe("Token standard of the contract; the default is `erc721`."),
    metadata_updatable: z
      .boolean()
      .describe("`true`: URIs of tokens can be changed until they are frozen; the default is `false`.")
      .optional(),
    ...settings,
    royalties_share: contractInputs.royalties.optional(),
  };
  return operation(
    "Deploy a contract in which the service mints for its account",
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
    z.object({
      chain: chainInput,
      name: text.describe("Name of the contract, not empty; it cannot be changed later."),
      symbol: text.describe("Symbol of the contract, not empty; it cannot be changed later."),
      owner_address: address.describe("Wallet that owns the contract and may do everything in it, in any letter case."),
      ...more,
    }),
  );
}

function updateContract(): Json {
  const optional = {
    freeze_metadata: z
      .boolean()
      .describe("`true` freezes the metadata of all tokens for good; `false` changes nothing.")
      .optional(),
    ...settings,
    royalties_share: contractInputs.newRoyalties.optional(),
    royalties_address: contractInputs.newRoyaltiesAddress.optional(),
    roles: z
      .array(role)
      .describe("Lists of roles, 20 at most; each replaces the list of its role, and others stay.")
      .optional(),
    exit_nftport: z.boolean().describe("`true`: the service gives up its rights in the contract, for good.").optional(),
  };
  return operation(
    "Change a product contract",
    [],
    {
      chain: chainAnswer,
      ...sent,
      freeze_metadata: z.boolean().nullable().describe("As it was sent; null when it was not."),
    },
    [...failures, "metadata_frozen"],
    z.object({ ...place, ...optional }),
  );
}

const easyInputs = {
  name: text.describe("Name of the token, not empty."),
  description: text.describe("Description of the token; it may be empty."),
};

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
    "Mint a file in the service's own contract",
    [
      chainQuery,
      query("name", text, "Name of the token, not empty.", true),
      query("description", text, "Description of the token; it may be empty.", true),
      query("mint_to_address", address, `Receiver of the token, ${receiver}.`, true),
    ],
    easyAnswer(),
    ["plan_limit_exceeded", "service_unavailable", "storage_full", "file_too_large"],
  );
  const file = text.meta({
    contentMediaType: "application/octet-stream",
    description: "The file, 20 MiB at most unless the operator set another limit.",
  });
  const schema = jsonSchemaOf(z.object({ file }));
  return { ...made, requestBody: { required: true, content: { "multipart/form-data": { schema } } } };
}

function mintedNft(): z.ZodType {
  const moved = "Tokens of this id that later requests burned or transferred";
  return z.object({
    chain: text.describe("Name of the chain."),
    ...sent,
    contract_name: nullableText.describe("Name of the contract; null while no node of the chain answers."),
    contract_address: contractAnswers.address,
    type: kind,
    token_id: text.describe("Id of the token, a decimal number as text."),
    mint_to_address: mintedAnswer.mint_to_address,
    metadata_uri: nullableText.describe("URI that the token was minted with; null when there was none."),
    quantity: integer.describe("How many were minted; 1 for ERC-721."),
    num_burned_or_transferred: integer.describe(`${moved}.`),
    burned_transferred_amount: integer.describe(`${moved}; the same number.`),
    metadata_frozen: z.boolean().describe("`true` when a request froze the token's URI."),
    mint_date: text.describe("When the mint was requested: UTC without an offset, to microseconds."),
  });
}

function ownContract(): z.ZodType {
  return z.object({
    ...ownMembers,
    tokens_burnable: z.boolean().describe("`true` when tokens can be burned."),
    tokens_transferable: z.boolean().describe("`true` when tokens can be transferred."),
    type: kind,
    royalties_share: contractAnswers.royalties,
    royalties_address: contractAnswers.royaltiesAddress,
    roles: z.array(role).nullable().describe("Lists of roles that were given by requests; null: none."),
    exited_nftport: z.boolean().describe("`true` when the service has given up its rights in the contract."),
  });
}
