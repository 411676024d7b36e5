import type { InputShapeFromFields } from "@pothos/core";
import { type Holder, type HolderKey, listHoldersOfEach } from "../nfts/list-holders.ts";
import type { Page } from "../nfts/page.ts";
import { type Builder, type GraphQLContext, oncePerBuilder } from "./builder.ts";
import { connectionOf, pageArgs, pageRequestOf, prices, specialCost } from "./connection.ts";
import { loadTogether } from "./load-together.ts";
import { nftTypes } from "./nft-types.ts";

/** The owners of a contract's tokens, or of one token: now, or after a past block. */
export function addHolders(builder: Builder): void {
  const { contract, nft } = nftTypes(builder);
  const holder = builder.objectRef<Holder>("Holder").implement({
    description: "An account that holds a token, and its number of units.",
    fields: (t) => ({
      tokenId: t.expose("tokenId", { type: "TokenId", description: "The id of the token in its contract." }),
      address: t.field({ type: "Address", description: "The address of the holder.", resolve: (row) => row.owner }),
      amount: t.expose("amount", {
        type: "Uint256",
        description: "The number of units that the account holds; 1 for ERC-721.",
      }),
    }),
  });
  const connection = connectionOf<Holder, Page<Holder>>(builder, "Holder", holder);
  const cost = (args: HolderArgs) => specialCost(args, args.atBlock == null ? prices.distinct : prices.replay);
  builder.objectField(contract, "holders", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description:
        "The holders of each of the contract's tokens, ordered by token id and address: now, or after a given block.",
      args: holderArgs(builder),
      complexity: cost,
      resolve: async ({ chain, address }, args, context) => await read(context, chain, args, { contract: address }),
    }),
  );
  builder.objectField(nft, "holders", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The holders of the token, ordered by address: now, or after a given block.",
      args: holderArgs(builder),
      complexity: cost,
      resolve: async ({ chain, contractAddress: contract, tokenId }, args, context) =>
        await read(context, chain, args, { contract, tokenId }),
    }),
  );
}

const holderArgs = oncePerBuilder((builder) => ({
  ...builder.args((t) => ({
    atBlock: t.field({
      type: "Uint256",
      description:
        "Return the holders as of the end of this block, which must be indexed. If omitted, the current holders.",
    }),
  })),
  ...pageArgs(builder),
}));

type HolderArgs = InputShapeFromFields<ReturnType<typeof holderArgs>>;

/** Batched with the same list of other objects at this level. */
async function read(context: GraphQLContext, chain: string, args: HolderArgs, key: HolderKey) {
  const last = 2n ** 63n - 1n;
  const atBlock = args.atBlock == null ? undefined : args.atBlock < last ? args.atBlock : last;
  const request = { chain, atBlock, page: pageRequestOf(args) };
  const identity = `${key.contract}:${key.tokenId ?? ""}`;
  return await loadTogether(context, ["holders", Object.keys(key), request], key, identity, async (keys) =>
    listHoldersOfEach(context.services, await context.caller(), request, keys),
  );
}
