import { ServiceError } from "../errors/errors.ts";
import { getNft, getNfts } from "../nfts/get-nfts.ts";
import { type RefreshStatus, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import { searchNfts } from "../nfts/search-nfts.ts";
import { type Builder, present } from "./builder.ts";
import { pageRequestOf, prices, shownParts, specialCost } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

/** Token reads, and the request to read metadata again. */
export function addNfts(builder: Builder): void {
  const { nft } = nftTypes(builder);

  builder.queryField("nft", (t) =>
    t.field({
      type: nft,
      nullable: true,
      description:
        "One token, also a burned one. `not_found` for a contract or token the index has never seen; `notIndexed` tells the two apart.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId", required: true }),
      },
      resolve: async (_root, args, context) => getNft(context.services, await context.caller(), args),
    }),
  );

  const key = builder.inputType("NftKey", {
    fields: (t) => ({
      chain: t.field({ type: "ChainName", required: true }),
      contract: t.field({ type: "Address", required: true }),
      tokenId: t.field({ type: "TokenId", required: true }),
    }),
  });
  builder.queryField("nftBatch", (t) =>
    t.field({
      type: [nft],
      nullable: { list: true, items: true },
      description: "Up to 100 tokens at once: one result for each key, null for a token the index has never seen.",
      args: { keys: t.arg({ type: [key], required: true }) },
      complexity: ({ keys }) => ({ field: 5, multiplier: keys.length }),
      resolve: async (_root, { keys }, context, info) =>
        await getNfts(context.services, await context.caller(), keys, shownParts(info)),
    }),
  );

  builder.queryField("search", (t) =>
    t.field({
      type: [nft],
      nullable: true,
      description:
        "Live tokens whose name or description has all words of the text, or their beginnings, in any case; best match first.",
      args: {
        text: t.arg.string({ required: true }),
        chain: t.arg({ type: "ChainName", description: "Absent: every chain but the test chain." }),
        contract: t.arg({ type: "Address" }),
        byMintDate: t.arg.boolean({ defaultValue: false, description: "Newest mint first instead." }),
        first: t.arg.int({ defaultValue: 20 }),
        page: t.arg.int({ defaultValue: 1, description: "From 1; 1,000 matches are reached." }),
      },
      complexity: ({ first }) => specialCost({ first }, prices.search),
      resolve: async (_root, args, context) => {
        const { size } = pageRequestOf({ first: args.first });
        const number = args.page ?? 1;
        if (number < 1) throw new ServiceError("value_error", "page must be 1 or more", { field: "page" });
        return await searchNfts(context.services, await context.caller(), {
          text: args.text,
          chain: args.chain ?? "all",
          contract: args.contract ?? undefined,
          orderBy: args.byMintDate ? "mint_date" : "relevance",
          descending: true,
          page: { size, number },
        });
      },
    }),
  );

  const status = builder.enumType("MetadataRefreshStatus", { values: Object.keys(refreshMessages) as RefreshStatus[] });
  const payload = builder.objectRef<{ status: RefreshStatus }>("RefreshMetadataPayload").implement({
    fields: (t) => ({
      status: t.expose("status", { type: status }),
      message: t.string({ resolve: (refresh) => refreshMessages[refresh.status] }),
    }),
  });
  builder.mutationField("refreshMetadata", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Has the metadata of a token, or of all tokens of a contract, read again.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId" }),
      },
      resolve: async (_root, args, context) => ({
        status: await refreshMetadata(context.services, await context.caller(), present(args)),
      }),
    }),
  );
}
