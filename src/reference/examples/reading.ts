import { type Task, yours } from "../example.ts";

const place = { chain: yours.chain, contract: yours.contract };
const token = "tokenId name fileUrl metadataStatus owner";
const page = "pageInfo { hasNextPage endCursor }";
const chainVariable = { chain: "ChainName!" };
const movements = `nodes { kind from to tokenId amount transactionHash timestamp } ${page}`;

export const reading: Task = {
  title: "Read tokens and contracts",
  about: "Answers come from an index of every token on the chains of this installation.",
  examples: [
    {
      title: "Read a token",
      rest: "get /v0/nfts/{contract_address}/{token_id}",
      graphql: "query nft",
      select: `${token} description metadata metadataUrl contract { name symbol }`,
      input: { ...place, tokenId: "1" },
    },
    {
      title: "Read the tokens of a contract",
      rest: "get /v0/nfts/{contract_address}",
      graphql: "query contract",
      select: `name standard nfts(first: 20) { nodes { ${token} } ${page} } owners(first: 5) { nodes { address tokenCount } }`,
      input: { chain: yours.chain },
      restInput: { contract_address: yours.contract, page_size: 20, include: ["metadata"] },
      graphqlInput: { address: yours.contract },
    },
    {
      title: "Read the newest tokens of a chain",
      rest: "get /v0/nfts",
      graphql: "query chain",
      select: `latestNfts(first: 20) { nodes { contractAddress ${token} } ${page} }`,
      restInput: { chain: yours.chain, page_size: 20 },
      graphqlInput: { name: yours.chain },
    },
    {
      title: "Read many tokens at once",
      graphql: "query nftBatch",
      select: token,
      input: {
        keys: [
          { ...place, tokenId: "1" },
          { ...place, tokenId: "2" },
        ],
      },
    },
    {
      title: "Refresh metadata",
      graphql: "mutation refreshMetadata",
      select: "status message",
      input: { ...place, tokenId: "1" },
    },
    {
      title: "Read an object by its id",
      graphql: "query node",
      select: "id ... on Contract { name address }",
      input: { id: yours.nodeId },
    },
    {
      title: "Read several objects by their ids",
      graphql: "query nodes",
      select: "id ... on Contract { name address }",
      input: { ids: [yours.nodeId] },
    },
    {
      title: "Check why a contract is not indexed",
      graphql: "query notIndexed",
      select: "reason message",
      input: { chain: yours.chain, address: yours.wallet },
    },
    {
      title: "Count unreadable URIs",
      rest: "get /v0/reports/{report_type}",
      restInput: { report_type: "uris" },
    },
  ],
};

export const owning: Task = {
  title: "Tokens of an owner",
  about: "Any wallet or contract is an account.",
  examples: [
    {
      title: "List the tokens of an account",
      rest: "get /v0/accounts/{account_address}",
      graphql: "query account",
      select: `nfts(chain: $chain, first: 20) { nodes { contractAddress ${token} } ${page} }`,
      variables: chainVariable,
      restInput: { account_address: yours.wallet, chain: yours.chain, page_size: 20, include: ["metadata"] },
      graphqlInput: { address: yours.wallet, chain: yours.chain },
    },
    {
      title: "List the contracts of an account's tokens",
      rest: "get /v0/accounts/contracts/{account_address}",
      graphql: "query account",
      select: `contracts(chain: $chain, first: 20) { nodes { tokenCount contract { address name } } ${page} }`,
      variables: chainVariable,
      restInput: { account_address: yours.wallet, chain: yours.chain, page_size: 20 },
      graphqlInput: { address: yours.wallet, chain: yours.chain },
    },
    {
      title: "List the tokens that an account created",
      rest: "get /v0/accounts/creators/{account_address}",
      graphql: "query account",
      select: `createdNfts(chain: $chain, first: 20) { nodes { contractAddress ${token} } ${page} }`,
      variables: chainVariable,
      restInput: { account_address: yours.wallet, chain: yours.chain, page_size: 20 },
      graphqlInput: { address: yours.wallet, chain: yours.chain },
    },
  ],
};

export const transactions: Task = {
  title: "Transactions of a token, contract or account",
  about: "Mints, transfers and burns, newest first. Sales are not indexed.",
  examples: [
    {
      title: "Of a token",
      rest: "get /v0/transactions/nfts/{contract_address}/{token_id}",
      graphql: "query nft",
      select: `transfers(first: 20) { ${movements} }`,
      input: { ...place, tokenId: "1" },
      restInput: { type: ["all"], page_size: 20 },
    },
    {
      title: "Of a contract",
      rest: "get /v0/transactions/nfts/{contract_address}",
      graphql: "query contract",
      select: `transfers(first: 20) { ${movements} }`,
      restInput: { contract_address: yours.contract, chain: yours.chain, type: ["all"], page_size: 20 },
      graphqlInput: { address: yours.contract, chain: yours.chain },
    },
    {
      title: "Of an account",
      rest: "get /v0/transactions/accounts/{account_address}",
      graphql: "query account",
      select: `transfers(chain: $chain, first: 20) { ${movements} }`,
      variables: chainVariable,
      restInput: { account_address: yours.wallet, chain: yours.chain, type: ["all"], page_size: 20 },
      graphqlInput: { address: yours.wallet, chain: yours.chain },
    },
    {
      title: "Of a chain",
      rest: "get /v0/transactions",
      graphql: "query chain",
      select: `transfers(first: 20, kinds: [MINT]) { ${movements} }`,
      restInput: { chain: yours.chain, type: ["mint"], page_size: 20 },
      graphqlInput: { name: yours.chain },
    },
    {
      title: "Count supply, mints and holders",
      rest: "get /v0/transactions/stats/{contract_address}",
      graphql: "query contract",
      select: "statistics { tokenCount ownerCount totalSupply totalMinted transferCount }",
      restInput: { contract_address: yours.contract, chain: yours.chain },
      graphqlInput: { address: yours.contract, chain: yours.chain },
    },
  ],
};

export const searching: Task = {
  title: "Search",
  about: "Search by words of names and descriptions.",
  examples: [
    {
      title: "Search for tokens",
      rest: "get /v0/search",
      graphql: "query search",
      select: `contractAddress ${token}`,
      input: { text: "key", chain: yours.chain },
      restInput: { page_size: 20 },
      graphqlInput: { first: 20 },
    },
  ],
};
