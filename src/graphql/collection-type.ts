import type { ObjectFieldBuilder } from "@pothos/core";
import type { Address } from "viem";
import { type Chain, findChain } from "../chains.ts";
import { type Collection, getCollection, getCollectionsAt, listCollections } from "../collections/collections.ts";
import { getContractAbi } from "../collections/contract-abi.ts";
import type { DeploymentPayload } from "../collections/deployment-input.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, type Types } from "./builder.ts";
import { loadTogether } from "./load-together.ts";
import { loadContract, nftTypes } from "./nft-types.ts";
import { viewerType } from "./viewer.ts";

/** A collection of the caller's account. */
export const collectionType = oncePerBuilder((builder) => builder.objectRef<Collection>("Collection"));

/** A collection beside another object, with those beside the objects of the same level; null: none of this account stands there. */
export async function loadCollection(context: GraphQLContext, chain: Chain, address: Address) {
  return await loadTogether(context, ["collection", chain.id], address, address, async (addresses) =>
    getCollectionsAt(context.services, await context.caller(), chain, addresses),
  );
}

/** The members of a collection. */
export function addCollectionType(builder: Builder): void {
  const { contract } = nftTypes(builder);
  collectionType(builder).implement({
    description: "A collection of the account that stands on its chain, as of the last update by the service.",
    fields: (t) => ({
      id: t.exposeID("id"),
      chain: t.field({ type: "ChainName", resolve: ({ chain }) => chain.name }),
      address: t.field({ type: "Address", resolve: ({ address }) => address }),
      contract: t.field({
        type: contract,
        nullable: true,
        description: "What the index knows of it; null until it has seen a token.",
        resolve: async ({ chain, address }, _args, context) => await loadContract(context, chain.name, address),
      }),
      transactionHash: t.field({
        type: "Hex",
        description: "Of the deployment.",
        resolve: ({ transactionHash }) => transactionHash,
      }),
      block: t.field({ type: "Uint256", resolve: ({ block }) => block }),
      relayed: t.exposeBoolean("relayed", { description: "False: a wallet of the creator's deployed it." }),
      ...settingsFields<Collection>(t, ({ settings }) => settings),
      createdAt: t.field({
        type: "DateTime",
        resolve: ({ createdMicros }) => new Date(Number(createdMicros / 1000n)),
      }),
      abi: t.field({
        type: "JSON",
        description: "The compiler's ABI with selectors and topics.",
        complexity: 50,
        resolve: async ({ chain, address }, _args, context) =>
          await getContractAbi(context.services, await context.caller(), { chain: chain.name, address }),
      }),
    }),
  });
}

/** What a creator asks for, as deployments and collections show it. */
export function settingsFields<Parent>(
  t: ObjectFieldBuilder<Types, Parent>,
  of: (parent: Parent) => DeploymentPayload,
) {
  return {
    name: t.string({ resolve: (root) => of(root).name }),
    symbol: t.string({ resolve: (root) => of(root).symbol }),
    owner: t.field({ type: "Address", resolve: (root) => of(root).ownerAddress }),
    treasury: t.field({ type: "Address", resolve: (root) => of(root).treasuryAddress }),
    maxSupply: t.field({ type: "Uint256", resolve: (root) => BigInt(of(root).maxSupply) }),
    reservedSupply: t.field({ type: "Uint256", resolve: (root) => BigInt(of(root).reservedSupply) }),
    tokensPerMint: t.field({ type: "Uint256", resolve: (root) => BigInt(of(root).tokensPerMint) }),
    mintPriceWei: t.field({ type: "Wei", resolve: (root) => BigInt(of(root).publicMintPriceWei) }),
    presaleMintPriceWei: t.field({ type: "Wei", resolve: (root) => BigInt(of(root).presaleMintPriceWei) }),
    publicMintStart: t.field({ type: "DateTime", resolve: (root) => dateOf(of(root).publicMintStart) }),
    presaleMintStart: t.field({
      type: "DateTime",
      nullable: true,
      description: "Null: no presale.",
      resolve: (root) => (of(root).presaleMintStart === "0" ? null : dateOf(of(root).presaleMintStart)),
    }),
    presaleMerkleRoot: t.field({ type: "Hex", resolve: (root) => of(root).presaleMerkleRoot }),
    metadataUpdatable: t.boolean({ resolve: (root) => of(root).metadataUpdatable }),
    baseUri: t.string({ resolve: (root) => of(root).baseUri }),
    prerevealTokenUri: t.string({ resolve: (root) => of(root).prerevealTokenUri }),
    royaltiesBps: t.int({ resolve: (root) => Number(of(root).royaltiesBps) }),
    royaltiesAddress: t.field({ type: "Address", resolve: (root) => of(root).royaltiesAddress }),
    serviceAdmin: t.boolean({
      description: "Whether the service's wallet is an admin of the collection.",
      resolve: (root) => of(root).grantServiceAdmin,
    }),
  };
}

function dateOf(seconds: string): Date {
  return new Date(Number(seconds) * 1000);
}

/** How an account finds its collections. */
export function addCollectionReads(builder: Builder): void {
  const collection = collectionType(builder);
  builder.queryField("collection", (t) =>
    t.field({
      type: collection,
      nullable: true,
      description: "One collection of the caller's account, by its address.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        address: t.arg({ type: "Address", required: true }),
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
      args: { chain: t.arg({ type: "ChainName", required: true }) },
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
