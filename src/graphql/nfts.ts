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
        "One token; it may be burned. Fails with `not_found` if its contract or the token has never been indexed; `notIndexed` distinguishes the two.",
      args: {
        chain: t.arg(chainArg),
        contract: t.arg(contractArg),
        tokenId: t.arg({ type: "TokenId", required: true, description: "The id of the token in its contract." }),
      },
      resolve: async (_root, args, context) => getNft(context.services, await context.caller(), args),
    }),
  );

  const key = builder.inputType("NftKey", {
    description: "Identifies one token by chain, contract and id.",
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
      description: "Up to 100 tokens at once: one result per key, null for a token that has never been indexed.",
      args: { keys: t.arg({ type: [key], required: true, description: "The tokens, up to 100." }) },
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
        "Tokens that are not burned and whose name or description contains all words of the text, in any letter case. A word of three letters or more also matches longer words that begin with it. Best match first.",
      args: {
        text: t.arg.string({
          required: true,
          description: "The words to search for. At least one letter, digit or emoji.",
        }),
        chain: t.arg({
          type: "ChainName",
          description: "Only tokens of this chain. If omitted, all chains except the test chain.",
        }),
        contract: t.arg({ type: "Address", description: "Only tokens of this contract. All contracts if omitted." }),
        byMintDate: t.arg.boolean({
          defaultValue: false,
          description: "Order by mint time, newest first, instead of by relevance.",
        }),
        first: t.arg.int({ defaultValue: 20, description: "The number of tokens per page: 1 to 100." }),
        page: t.arg.int({
          defaultValue: 1,
          description: "The page number, from 1. Only the first 1,000 matches can be reached.",
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
    description: "The result of a request to read metadata again.",
    values: Object.fromEntries(
      Object.entries(refreshMessages).map(([name, description]) => [name, { description }]),
    ) as Record<RefreshStatus, { description: string }>,
  });
  const payload = builder.objectRef<{ status: RefreshStatus }>("RefreshMetadataPayload").implement({
    description: "The answer of `refreshMetadata`.",
    fields: (t) => ({
      status: t.expose("status", { type: status, description: "The result of the request." }),
      message: t.string({
        description: "The result in English.",
        resolve: (refresh) => refreshMessages[refresh.status],
      }),
    }),
  });
  builder.mutationField("refreshMetadata", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Queues the metadata of a token, or of all tokens of a contract, to be read again.",
      args: {
        chain: t.arg(chainArg),
        contract: t.arg(contractArg),
        tokenId: t.arg({
          type: "TokenId",
          description: "The id of the token. If omitted, all tokens of the contract.",
        }),
      },
      resolve: async (_root, args, context) => ({
        status: await refreshMetadata(context.services, await context.caller(), present(args)),
      }),
    }),
  );
}
