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

/** Adds the fields of `Collection`. */
export function addCollectionType(builder: Builder): void {
  const { contract } = nftTypes(builder);
  collectionType(builder).implement({
    description: "A collection of the account that stands on its chain, as of the last update by the service.",
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
        description: "What the index has of the contract, such as tokens and owners; null until it has seen a token.",
        resolve: async ({ chain, address }, _args, context) => await loadContract(context, chain.name, address),
      }),
      transactionHash: t.field({
        type: "Hex",
        description: "The hash of the transaction that deployed it.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({
        type: "Uint256",
        description: "The number of the block in which it was deployed.",
        resolve: ({ block }) => block,
      }),
      relayed: t.exposeBoolean("relayed", {
        description: "Whether the service deployed it; false: a wallet of the creator's did.",
      }),
      ...settingsFields<Collection>(t, ({ settings }) => settings),
      createdAt: t.field({
        type: "DateTime",
        description: "When the service was asked to deploy or prepare it.",
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
      description: "The name of the collection, which never changes.",
      resolve: (root) => of(root).name,
    }),
    symbol: t.string({
      description: "The symbol of the collection, which never changes.",
      resolve: (root) => of(root).symbol,
    }),
    owner: t.field({
      type: "Address",
      description: "The wallet that the contract is deployed for: its owner, until it passes the ownership on.",
      resolve: (root) => of(root).ownerAddress,
    }),
    treasury: t.field({
      type: "Address",
      description: "The address that gets withdrawn mint fees, which never changes.",
      resolve: (root) => of(root).treasuryAddress,
    }),
    maxSupply: t.field({
      type: "Uint256",
      description: "How many tokens there can ever be.",
      resolve: (root) => BigInt(of(root).maxSupply),
    }),
    reservedSupply: t.field({
      type: "Uint256",
      description: "How many tokens of the supply only an admin can mint, free of charge.",
      resolve: (root) => BigInt(of(root).reservedSupply),
    }),
    tokensPerMint: t.field({
      type: "Uint256",
      description: "The most tokens of one mint call.",
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
      description: "The presale is open in blocks after this time; null: no presale.",
      resolve: (root) => (of(root).presaleMintStart === "0" ? null : dateOf(of(root).presaleMintStart)),
    }),
    presaleMerkleRoot: t.field({
      type: "Hex",
      description: "The Merkle root of the presale list; 32 zero bytes for an empty list.",
      resolve: (root) => of(root).presaleMerkleRoot,
    }),
    metadataUpdatable: t.boolean({
      description: "Whether the collection can still be updated; false: its metadata is frozen for good.",
      resolve: (root) => of(root).metadataUpdatable,
    }),
    baseUri: t.string({
      description: "What goes before the token id in token URIs, such as ipfs://…/; empty until the reveal.",
      resolve: (root) => of(root).baseUri,
    }),
    prerevealTokenUri: t.string({
      description: "The metadata URI of every token until the reveal; may be empty.",
      resolve: (root) => of(root).prerevealTokenUri,
    }),
    royaltiesBps: t.int({
      description: "The royalty share of a resale in basis points: 500 is 5 %.",
      resolve: (root) => Number(of(root).royaltiesBps),
    }),
    royaltiesAddress: t.field({
      type: "Address",
      description: "The address that gets royalties (ERC-2981).",
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

/** Adds the queries for an account's collections. */
export function addCollectionReads(builder: Builder): void {
  const collection = collectionType(builder);
  builder.queryField("collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "One collection of the caller's account, by its address.",
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
      description: "All collections of the caller's account on a chain that stand, newest first.",
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
      description: "The collection of the caller's account at this address; null for any other contract.",
      resolve: async ({ chain, address }, _args, context) =>
        await loadCollection(context, findChain(context.services.chains, chain), address as Address),
    }),
  );
}
