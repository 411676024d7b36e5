import { type Task, yours } from "../example.ts";

const userErrors = "userErrors { code field message fix }";
const deployed = "id state transactionHash predictedAddress holdReason progress";

export const deploying: Task = {
  title: "Deploy a collection",
  about: "The service pays for the transaction. The answer is sent once the transaction is signed and stored.",
  examples: [
    {
      title: "Deploy a collection",
      rest: "post /v0/contracts/collections",
      graphql: "mutation deployCollection",
      select: `deployment { ${deployed} } idempotencyKey warnings ${userErrors}`,
      input: {
        chain: yours.chain,
        name: "Keys",
        symbol: "KEY",
        maxSupply: "1000",
        reservedSupply: "10",
        mintPriceWei: "10000000000000000",
        presaleMintPriceWei: "5000000000000000",
        tokensPerMint: "5",
        owner: yours.wallet,
        treasury: yours.wallet,
        presaleMintStart: "2036-01-01T12:00:00Z",
        publicMintStart: "2036-01-02T12:00:00Z",
        allowlist: [yours.wallet, yours.friend],
        prerevealTokenUri: yours.document,
        royaltiesBps: 500,
      },
      note: "`dry_run=true` (in GraphQL `dryRun: true`) validates and simulates everything; nothing is spent.",
    },
    {
      title: "Report the transaction of your own wallet",
      graphql: "mutation reportDeployment",
      select: `collection ${userErrors}`,
      input: { chain: yours.chain, transactionHash: yours.deploymentHash },
      note: "For a collection that `deployCollection` prepared with `mode: SIGN` and your wallet deployed.",
    },
  ],
};

export const following: Task = {
  title: "Follow a deployment",
  about: "A collection can be used once its transaction is confirmed.",
  examples: [
    {
      title: "Find the address of a contract by its transaction",
      rest: "get /v0/contracts/{transaction_hash}",
      graphql: "query viewer",
      select: "deployedContract(chain: $chain, transactionHash: $transactionHash)",
      variables: { chain: "ChainName!", transactionHash: "Hex!" },
      input: { chain: yours.chain, transactionHash: yours.deploymentHash },
      note: "`waitUntilDeployed` of the TypeScript client polls until the address is available.",
    },
    {
      title: "Read one deployment",
      graphql: "query deployment",
      select: `${deployed} confirmations confirmationsRequired collection { address name }`,
      input: { id: yours.deploymentId },
    },
    {
      title: "Watch a deployment",
      graphql: "subscription deployment",
      select: deployed,
      input: { id: yours.deploymentId },
    },
    {
      title: "Cancel a deployment",
      graphql: "mutation cancelDeployment",
      select: `deployment { id state } ${userErrors}`,
      input: { id: yours.deploymentId },
    },
    {
      title: "List your collections",
      rest: "get /v0/me/contracts/collections",
      graphql: "query viewer",
      select: "collections(chain: $chain) { address name symbol maxSupply publicMintStart }",
      variables: { chain: "ChainName!" },
      input: { chain: yours.chain },
    },
  ],
};

export const selling: Task = {
  title: "Public sale and presale list",
  about: "Buyers mint with their own wallets. A mint page needs these reads.",
  examples: [
    {
      title: "Read a collection and its sale",
      graphql: "query collection",
      select:
        "name symbol maxSupply tokensPerMint mintPriceWei publicMintStart presaleMintPriceWei presaleMintStart owner",
      input: { chain: yours.chain, address: yours.collection },
    },
    {
      title: "Check whether a wallet may mint in the presale",
      graphql: "query eligibility",
      select: "eligible reason root proof presaleStart",
      input: { chain: yours.chain, collection: yours.collection, wallet: yours.wallet },
    },
    {
      title: "Watch supply and sale",
      graphql: "subscription collection",
      select: "address minted maxSupply publicPriceWei publicStart",
      input: { chain: yours.chain, collection: yours.collection },
    },
  ],
};

export const changing: Task = {
  title: "Update, reveal and withdraw",
  about: "An update changes only the given settings.",
  examples: [
    {
      title: "Reveal a collection",
      rest: "put /v0/contracts/collections",
      graphql: "mutation updateCollection",
      select: `update { id state transactionHash holdReason progress } idempotencyKey warnings ${userErrors}`,
      input: { chain: yours.chain, collection: yours.collection, baseUri: yours.folder },
      note: "Sale starts, presale list, royalties and the metadata freeze are changed in the same way.",
    },
    {
      title: "Cancel an update",
      graphql: "mutation cancelCollectionUpdate",
      select: `update { id state } ${userErrors}`,
      input: { id: yours.updateId },
    },
    {
      title: "Withdraw: get the contract's ABI",
      rest: "get /v0/me/contracts/abis/{contract_address}",
      graphql: "query collection",
      select: "abi treasury",
      input: { chain: yours.chain, address: yours.collection },
      note: "Only the owner's wallet can withdraw revenue: it calls `withdrawFees()` of this ABI, and the contract pays its treasury. `mintyard launch withdraw` prints the transaction.",
    },
  ],
};
