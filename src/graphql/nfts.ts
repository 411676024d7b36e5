import { ServiceError } from "../errors/errors.ts";
import { getContracts } from "../nfts/get-contracts.ts";
import { getNft } from "../nfts/get-nft.ts";
import { getNfts } from "../nfts/get-nfts.ts";
import { listChainNfts } from "../nfts/list-chain-nfts.ts";
import { listContractNfts } from "../nfts/list-contract-nfts.ts";
import { getMetadataProgress, type MetadataProgress } from "../nfts/metadata-progress.ts";
import { type RefreshStatus, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import { searchNfts } from "../nfts/search-nfts.ts";
import { countConditions, maxTraitConditions, type TraitFilter } from "../nfts/traits.ts";
import type { Builder } from "./builder.ts";
import { pageRequestOf, prices, selects, specialCost } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

/** Token reads, and the request to read metadata again. */
export function addNfts(builder: Builder): void {
  const { nft, contract: contractType, connection } = nftTypes(builder);
  const filter = traitFilter(builder);

  builder.queryField("nft", (t) =>
    t.field({
      type: nft,
      nullable: true,
      description: "One token, also a burned one. `not_found` for a contract or token the index has never seen.",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId", required: true }),
      },
      resolve: async (_root, args, context) => getNft(context.services, await context.caller(), args),
    }),
  );

  builder.queryField("nfts", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description:
        "The live tokens of a contract by token id; without a contract those of the chain, newest mint first " +
        "(the last 90 days, unless the plan is enterprise).",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address" }),
        traits: t.arg({
          type: filter,
          description: "Together with a contract: only tokens whose traits are like that.",
        }),
        first: t.arg.int(),
        after: t.arg.string(),
        last: t.arg.int(),
        before: t.arg.string(),
      },
      complexity: (args) => specialCost(args, traitPrice(args.traits)),
      resolve: async (_root, args, context, info) => {
        const caller = await context.caller();
        const { chain, contract } = args;
        if (args.traits && !contract) {
          throw new ServiceError("parameter_missing", "a trait filter needs the contract", { field: "contract" });
        }
        const page = pageRequestOf(args);
        const parts = { metadata: selects(info, "metadata"), contract: selects(info, "contract") };
        return contract
          ? listContractNfts(context.services, caller, {
              chain,
              contract,
              traits: args.traits ?? undefined,
              page,
              parts,
            })
          : { ...(await listChainNfts(context.services, caller, { chain, page, parts })), total: null };
      },
    }),
  );

  addMetadataProgress(builder);

  builder.queryField("contract", (t) =>
    t.field({
      type: contractType,
      nullable: true,
      description: "One contract with NFTs; null for one the index has never seen.",
      args: { chain: t.arg.string({ required: true }), address: t.arg({ type: "Address", required: true }) },
      resolve: async (_root, key, context) =>
        (await getContracts(context.services, await context.caller(), [key], "whole"))[0] ?? null,
    }),
  );

  const key = builder.inputType("NftKey", {
    fields: (t) => ({
      chain: t.string({ required: true }),
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
        await getNfts(context.services, await context.caller(), keys, {
          metadata: selects(info, "metadata"),
          contract: selects(info, "contract"),
        }),
    }),
  );

  builder.queryField("search", (t) =>
    t.field({
      type: [nft],
      nullable: true,
      description: "Live tokens whose name or description has all words of the text, best match first.",
      args: {
        text: t.arg.string({ required: true }),
        chain: t.arg.string({ defaultValue: "all" }),
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
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId" }),
      },
      resolve: async (_root, { chain, contract, tokenId }, context) => ({
        status: await refreshMetadata(context.services, await context.caller(), {
          chain,
          contract,
          tokenId: tokenId ?? undefined,
        }),
      }),
    }),
  );
}

function addMetadataProgress(builder: Builder): void {
  const fault = builder.objectRef<MetadataProgress["faults"][number]>("MetadataFault").implement({
    fields: (t) => ({ code: t.exposeString("code"), count: t.exposeInt("count") }),
  });
  const progress = builder.objectRef<MetadataProgress>("MetadataProgress").implement({
    description: "How far the metadata of a contract's live tokens has been read.",
    fields: (t) => ({
      total: t.exposeInt("total"),
      fresh: t.exposeInt("fresh"),
      pending: t.exposeInt("pending", { description: "Counted up to 100,000." }),
      failed: t.exposeInt("failed", { description: "Counted up to 100,000." }),
      faults: t.field({
        type: [fault],
        complexity: { multiplier: 1 },
        description: "Why tokens failed, the most frequent reason first.",
        resolve: ({ faults }) => [...faults],
      }),
    }),
  });
  builder.queryField("metadataProgress", (t) =>
    t.field({
      type: progress,
      nullable: true,
      description: "`not_found` for a contract the index has never seen.",
      complexity: prices.report,
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
      },
      resolve: async (_root, args, context) => getMetadataProgress(context.services, await context.caller(), args),
    }),
  );
}

/** Of a filter. More conditions than a request may have are refused as such, not for their price. */
function traitPrice(filter: TraitFilter | null | undefined): number {
  return Math.min(countConditions(filter), maxTraitConditions + 1) * prices.traitCondition;
}

function traitFilter(builder: Builder) {
  const filter = builder.inputRef<TraitFilter>("TraitFilter");
  filter.implement({
    description:
      "A condition on a token's traits; members of one filter are joined by and. A request may have 8 conditions, every value counted.",
    fields: (t) => ({
      and: t.field({ type: [filter] }),
      or: t.field({ type: [filter] }),
      not: t.field({ type: filter }),
      name: t.string({ description: "The trait; alone: the token has it, with whatever value." }),
      values: t.stringList({ description: "One of these values, as they are written." }),
      min: t.float({ description: "For values that are numbers; inclusive, like max." }),
      max: t.float(),
    }),
  });
  return filter;
}
