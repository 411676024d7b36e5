import { LocalFile, type Task, yours } from "../example.ts";

const userErrors = "userErrors { code field message fix }";
const request = `request { id state transactionHash tokens { tokenId to quantity } } idempotencyKey warnings ${userErrors}`;
const place = { chain: yours.chain, contract: yours.contract };

export const creating: Task = {
  title: "Create a product contract",
  about: "In a product contract the service mints for your account; it has no sale.",
  examples: [
    {
      title: "Deploy a product contract",
      rest: "post /v0/contracts",
      graphql: "mutation createContract",
      select: `request { id state contract transactionHash } idempotencyKey warnings ${userErrors}`,
      input: {
        chain: yours.chain,
        name: "Tickets",
        symbol: "TIX",
        standard: "ERC1155",
        owner: yours.wallet,
        metadataUpdatable: true,
      },
    },
    {
      title: "List your product contracts",
      rest: "get /v0/me/contracts",
      graphql: "query viewer",
      select: "mints(all: true, first: 20) { nodes { kind state contract chain } }",
    },
    {
      title: "Change a product contract",
      rest: "put /v0/contracts",
      input: place,
      restInput: { royalties_share: 500, royalties_address: yours.wallet },
    },
  ],
};

export const minting: Task = {
  title: "Mint",
  about: "Each request is carried out exactly once. `transact` of the TypeScript client generates an idempotency key.",
  examples: [
    {
      title: "Mint a token",
      rest: "post /v0/mints/customizable",
      graphql: "mutation mint",
      select: request,
      input: { ...place, to: yours.wallet, uri: yours.document },
    },
    {
      title: "Mint several tokens",
      rest: "post /v0/mints/customizable/batch",
      graphql: "mutation mintBatch",
      select: `results { request { id state transactionHash } ${userErrors} } ${userErrors}`,
      input: {
        ...place,
        tokens: [
          { to: yours.wallet, uri: yours.document, quantity: "5" },
          { to: yours.friend, uri: yours.document, quantity: "3" },
        ],
      },
    },
    {
      title: "Mint from the URL of a file",
      rest: "post /v0/mints/easy/urls",
      restInput: {
        chain: yours.chain,
        name: "Key #1",
        description: "Opens the first door.",
        file_url: yours.image,
        mint_to_address: yours.friend,
      },
    },
    {
      title: "Mint from a file",
      rest: "post /v0/mints/easy/files",
      restInput: {
        chain: yours.chain,
        name: "Key #2",
        description: "Opens the second door.",
        mint_to_address: yours.friend,
        file: new LocalFile("key.png"),
      },
    },
    {
      title: "Find the token of a mint",
      rest: "get /v0/mints/{transaction_hash}",
      restInput: { chain: yours.chain, transaction_hash: yours.mintHash },
    },
    {
      title: "Find all tokens of a mint",
      rest: "get /v0/mints/batch/{transaction_hash}",
      restInput: { chain: yours.chain, transaction_hash: yours.mintHash },
      note: "`waitUntilMinted` of the TypeScript client polls until they are available.",
    },
    {
      title: "Read one request",
      graphql: "query mintRequest",
      select: "id kind state transactionHash tokens { tokenId to quantity } error holdReason",
      input: { id: yours.requestId },
    },
    {
      title: "Watch a request",
      graphql: "subscription mintRequest",
      select: "id state transactionHash",
      input: { id: yours.requestId },
    },
    {
      title: "Cancel a request",
      graphql: "mutation cancelMintRequest",
      select: `request { id state } ${userErrors}`,
      input: { id: yours.requestId },
    },
    {
      title: "List your mints",
      rest: "get /v0/me/mints",
      graphql: "query viewer",
      select: "mints(first: 20) { nodes { id state tokens { tokenId to } } pageInfo { hasNextPage endCursor } }",
      restInput: { chain: yours.chain, page_size: 20 },
    },
  ],
};

export const moving: Task = {
  title: "Change, transfer and burn tokens",
  about: "For tokens of your product contracts. Transfers and burns take tokens owned by the contract's owner.",
  examples: [
    {
      title: "Change the metadata of a token",
      rest: "put /v0/mints/customizable",
      graphql: "mutation updateToken",
      select: request,
      input: { ...place, tokenId: "1", uri: yours.image },
    },
    {
      title: "Transfer a token",
      rest: "post /v0/mints/transfers",
      graphql: "mutation transfer",
      select: request,
      input: place,
      restInput: { token_id: "1", transfer_to_address: yours.friend },
      graphqlInput: { tokens: [{ tokenId: "1", to: yours.friend }] },
    },
    {
      title: "Transfer several tokens",
      rest: "post /v0/mints/transfers/batch",
      graphql: "mutation transfer",
      select: request,
      input: { ...place, tokens: [{ tokenId: "1", to: yours.friend, quantity: "2" }] },
    },
    {
      title: "Burn a token",
      rest: "delete /v0/mints/customizable",
      graphql: "mutation burn",
      select: request,
      input: place,
      restInput: { token_id: "1" },
      graphqlInput: { tokens: [{ tokenId: "1" }] },
    },
    {
      title: "Burn several tokens",
      rest: "delete /v0/mints/customizable/batch",
      graphql: "mutation burn",
      select: request,
      input: { ...place, tokens: [{ tokenId: "1", quantity: "2" }] },
    },
  ],
};
