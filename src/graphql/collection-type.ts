import type { Address } from "viem";
import type { Chain } from "../chains.ts";
import { type Collection, getCollectionsAt } from "../collections/collections.ts";
import { getContractAbi } from "../collections/contract-abi.ts";
import { type Builder, type GraphQLContext, oncePerBuilder } from "./builder.ts";
import { loadTogether } from "./load-together.ts";
import { loadContract, nftTypes } from "./nft-types.ts";
import { settingsFields } from "./settings-fields.ts";

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
