import type { ObjectFieldBuilder } from "@pothos/core";
import type { Address } from "viem";
import { type Chain, findChain } from "../chains.ts";
import { type Collection, getCollection, getCollectionsAt, listCollections } from "../collections/collections.ts";
import { getContractAbi } from "../collections/contract-abi.ts";
import type { DeploymentPayload } from "../collections/deployment-input.ts";
import { type Builder, chainArg, chainField, type GraphQLContext, oncePerBuilder, type Types } from "./builder.ts";
import { loadTogether } from "./load-together.ts";
import { loadContract, nftTypes } from "./nft-types.ts";
import { viewerType } from "./viewer.ts";

/** A collection of the caller's account. */
export const collectionType = oncePerBuilder((builder) => builder.objectRef<Collection>("Collection"));

/** The account's collection at an address, batched with others at this level; null: it is none of the account's. */
export async function loadCollection(context: GraphQLContext, chain: Chain, address: Address) {
  return await loadTogether(context, ["collection", chain.id], address, address, async (addresses) =>
    getCollectionsAt(context.services, await context.caller(), chain, addresses),
  );
}

export function addCollectionType(builder: Builder): void {
  const { contract } = nftTypes(builder);
  collectionType(builder).implement({
    description: "A deployed collection of your account, with the settings of the last update by the service.",
    fields: (t) => ({
      id: t.exposeID("id", { description: "The id of the collection in this service." }),
      chain: t.field({ ...chainField, resolve: ({ chain }) => chain.name }),
      address: t.field({
        type: "Address",
        description: "The address of the collection's contract.",
        resolve: ({ address }) => address,
      }),
      contract: t.field({
        type: contract,
        nullable: true,
        description: "Indexed data of the contract, such as tokens and owners. Null until a token has been indexed.",
        resolve: async ({ chain, address }, _args, context) => await loadContract(context, chain.name, address),
      }),
      transactionHash: t.field({
        type: "Hex",
        description: "The hash of the deployment transaction.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({
        type: "Uint256",
        description: "The number of the block with the deployment.",
        resolve: ({ block }) => block,
      }),
      relayed: t.exposeBoolean("relayed", {
        description: "True if the service deployed the collection, false if the creator's own wallet did.",
      }),
      ...settingsFields<Collection>(t, ({ settings }) => settings),
      createdAt: t.field({
        type: "DateTime",
        description: "When the deployment was requested or prepared.",
        resolve: ({ createdMicros }) => new Date(Number(createdMicros / 1000n)),
      }),
      abi: t.field({
        type: "JSON",
        description: "The contract's ABI as JSON, with selectors and topics.",
        complexity: 50,
        resolve: async ({ chain, address }, _args, context) =>
          await getContractAbi(context.services, await context.caller(), { chain: chain.name, address }),
      }),
    }),
  });
}

/** The creator's settings, as deployments and collections show them. */
export function settingsFields<Parent>(
  t: ObjectFieldBuilder<Types, Parent>,
  of: (parent: Parent) => DeploymentPayload,
) {
  return {
    name: t.string({
      description: "The name of the collection. It never changes.",
      resolve: (root) => of(root).name,
    }),
    symbol: t.string({
      description: "The symbol of the collection. It never changes.",
      resolve: (root) => of(root).symbol,
    }),
    owner: t.field({
      type: "Address",
      description: "The wallet that the contract was deployed for. It is the owner until it transfers the ownership.",
      resolve: (root) => of(root).ownerAddress,
    }),
    treasury: t.field({
      type: "Address",
      description: "The address that receives withdrawn mint fees. It never changes.",
      resolve: (root) => of(root).treasuryAddress,
    }),
    maxSupply: t.field({
      type: "Uint256",
      description: "The maximum number of tokens.",
      resolve: (root) => BigInt(of(root).maxSupply),
    }),
    reservedSupply: t.field({
      type: "Uint256",
      description: "How many tokens of the supply only an admin can mint, free of charge.",
      resolve: (root) => BigInt(of(root).reservedSupply),
    }),
    tokensPerMint: t.field({
      type: "Uint256",
      description: "The maximum number of tokens in one mint call.",
      resolve: (root) => BigInt(of(root).tokensPerMint),
    }),
    mintPriceWei: t.field({
      type: "Wei",
      description: "The price of a token in the public sale, in wei of the chain's native token.",
      resolve: (root) => BigInt(of(root).publicMintPriceWei),
    }),
    presaleMintPriceWei: t.field({
      type: "Wei",
      description: "The price of a token in the presale, in wei of the chain's native token.",
      resolve: (root) => BigInt(of(root).presaleMintPriceWei),
    }),
    publicMintStart: t.field({
      type: "DateTime",
      description: "The public sale is open in blocks after this time.",
      resolve: (root) => dateOf(of(root).publicMintStart),
    }),
    presaleMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "The presale is open in blocks after this time. Null if there is no presale.",
      resolve: (root) => (of(root).presaleMintStart === "0" ? null : dateOf(of(root).presaleMintStart)),
    }),
    presaleMerkleRoot: t.field({
      type: "Hex",
      description: "The Merkle root of the presale list; 32 zero bytes if the list is empty.",
      resolve: (root) => of(root).presaleMerkleRoot,
    }),
    metadataUpdatable: t.boolean({
      description: "Whether the collection can still be updated. False if its metadata is permanently frozen.",
      resolve: (root) => of(root).metadataUpdatable,
    }),
    baseUri: t.string({
      description: "The prefix of token URIs, such as ipfs://…/, followed by the token id. Empty until the reveal.",
      resolve: (root) => of(root).baseUri,
    }),
    prerevealTokenUri: t.string({
      description: "The metadata URI that all tokens have until the reveal; may be empty.",
      resolve: (root) => of(root).prerevealTokenUri,
    }),
    royaltiesBps: t.int({
      description: "The royalty on resales in basis points: 500 is 5 %.",
      resolve: (root) => Number(of(root).royaltiesBps),
    }),
    royaltiesAddress: t.field({
      type: "Address",
      description: "The address that receives royalties (ERC-2981).",
      resolve: (root) => of(root).royaltiesAddress,
    }),
    serviceAdmin: t.boolean({
      description: "Whether the collection was deployed with the service's wallet as an admin, which can update it.",
      resolve: (root) => of(root).grantServiceAdmin,
    }),
  };
}

function dateOf(seconds: string): Date {
  return new Date(Number(seconds) * 1000);
}

export function addCollectionReads(builder: Builder): void {
  const collection = collectionType(builder);
  builder.queryField("collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "One collection of your account, by address.",
      args: {
        chain: t.arg(chainArg),
        address: t.arg({ type: "Address", required: true, description: "The address of the collection." }),
      },
      resolve: async (_root, { chain, address }, context) =>
        await getCollection(context.services, await context.caller(), { chain, address }),
    }),
  );
  builder.objectField(viewerType(builder), "collections", (t) =>
    t.field({
      type: [collection],
      nullable: true,
      description: "All deployed collections of your account on a chain, newest first.",
      args: { chain: t.arg(chainArg) },
      complexity: { field: 5, multiplier: 10 },
      resolve: async (_viewer, { chain }, context) =>
        await listCollections(context.services, await context.caller(), chain, { allowlists: false }),
    }),
  );
  builder.objectField(nftTypes(builder).contract, "collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "Your account's collection at this address. Null for any other contract.",
      resolve: async ({ chain, address }, _args, context) =>
        await loadCollection(context, findChain(context.services.chains, chain), address as Address),
    }),
  );
}
