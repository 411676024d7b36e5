import { ServiceError } from "../errors/errors.ts";
import { getNft, getNfts } from "../nfts/get-nfts.ts";
import { type RefreshStatus, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import { searchNfts } from "../nfts/search-nfts.ts";
import { type Builder, chainArg, contractArg, present } from "./builder.ts";
import { pageRequestOf, prices, shownParts, specialCost } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

/** Token reads, and the mutation that refreshes metadata. */
export function addNfts(builder: Builder): void {
  const { nft } = nftTypes(builder);

  builder.queryField("nft", (t) =>
    t.field({
      type: nft,
      nullable: true,
      description:
        "One token, also a burned one. `not_found` for a contract or token the index has never seen; `notIndexed` tells the two apart.",
      args: {
        chain: t.arg(chainArg),
        contract: t.arg(contractArg),
        tokenId: t.arg({ type: "TokenId", required: true, description: "The id of the token in its contract." }),
      },
      resolve: async (_root, args, context) => getNft(context.services, await context.caller(), args),
    }),
  );

  const key = builder.inputType("NftKey", {
    description: "What names one token: its chain, its contract and its id.",
    fields: (t) => ({
      chain: t.field(chainArg),
      contract: t.field(contractArg),
      tokenId: t.field({ type: "TokenId", required: true, description: "The id of the token in its contract." }),
    }),
  });
  builder.queryField("nftBatch", (t) =>
    t.field({
      type: [nft],
      nullable: { list: true, items: true },
      description: "Up to 100 tokens at once: one result for each key, null for a token the index has never seen.",
      args: { keys: t.arg({ type: [key], required: true, description: "The tokens, 100 at most." }) },
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
        text: t.arg.string({
          required: true,
          description: "The words to look for; at least one letter, digit or emoji.",
        }),
        chain: t.arg({
          type: "ChainName",
          description: "Only tokens of this chain; of every chain but the test chain when absent.",
        }),
        contract: t.arg({ type: "Address", description: "Only tokens of this contract; of all when absent." }),
        byMintDate: t.arg.boolean({
          defaultValue: false,
          description: "Order by mint time, newest first, instead of best match first.",
        }),
        first: t.arg.int({ defaultValue: 20, description: "How many tokens a page has: 1 to 100." }),
        page: t.arg.int({
          defaultValue: 1,
          description: "The number of the page, from 1; the first 1,000 matches can be reached.",
        }),
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

  const status = builder.enumType("MetadataRefreshStatus", {
    description: "What became of a request to read metadata again.",
    values: Object.fromEntries(
      Object.entries(refreshMessages).map(([name, description]) => [name, { description }]),
    ) as Record<RefreshStatus, { description: string }>,
  });
  const payload = builder.objectRef<{ status: RefreshStatus }>("RefreshMetadataPayload").implement({
    description: "The answer of `refreshMetadata`.",
    fields: (t) => ({
      status: t.expose("status", { type: status, description: "What became of the request." }),
      message: t.string({
        description: "The same in English, for people.",
        resolve: (refresh) => refreshMessages[refresh.status],
      }),
    }),
  });
  builder.mutationField("refreshMetadata", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Has the metadata of a token, or of all tokens of a contract, read again.",
      args: {
        chain: t.arg(chainArg),
        contract: t.arg(contractArg),
        tokenId: t.arg({
          type: "TokenId",
          description: "The id of the token; all tokens of the contract are read again when absent.",
        }),
      },
      resolve: async (_root, args, context) => ({
        status: await refreshMetadata(context.services, await context.caller(), present(args)),
      }),
    }),
  );
}
