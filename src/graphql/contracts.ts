import { type CollectionStatistics, getCollectionStatistics } from "../nfts/collection-statistics.ts";
import { type Holder, listHolders } from "../nfts/list-holders.ts";
import { type CollectionOwner, type CollectionOwnerPage, listCollectionOwners } from "../nfts/list-owners.ts";
import type { Page } from "../nfts/page.ts";
import { listTraits, type TraitSummary } from "../nfts/traits.ts";
import type { Builder } from "./builder.ts";
import { pageRequestOf, prices, selects, specialCost } from "./connection.ts";
import { connectionOf } from "./page-types.ts";

/** Reads about one contract: who holds it, now and then; its numbers and traits. */
export function addContracts(builder: Builder): void {
  addOwners(builder);
  addHolders(builder);
  addStatistics(builder);
  addTraits(builder);
}

function addOwners(builder: Builder): void {
  const owner = builder.objectRef<CollectionOwner>("CollectionOwner").implement({
    fields: (t) => ({
      address: t.field({ type: "Address", resolve: (row) => row.owner }),
      tokenCount: t.int({
        description: "Token ids it holds of the contract.",
        resolve: (row) => Number(row.holdingCount),
      }),
    }),
  });
  const connection = connectionOf<CollectionOwner, CollectionOwnerPage>(builder, "CollectionOwner", owner, {
    description: "Distinct owners. Counted, not looked up: ask once, not with each page.",
    of: (page) => page.total,
  });
  builder.queryField("owners", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "Who holds tokens of a contract now, each owner once, by address.",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
        first: t.arg.int(),
        after: t.arg.string(),
        last: t.arg.int(),
        before: t.arg.string(),
      },
      complexity: (args) => specialCost(args, prices.counted),
      resolve: async (_root, args, context, info) =>
        await listCollectionOwners(context.services, await context.caller(), {
          chain: args.chain,
          contract: args.contract,
          page: pageRequestOf(args),
          withTotal: selects(info, "totalCount"),
        }),
    }),
  );
}

function addHolders(builder: Builder): void {
  const holder = builder.objectRef<Holder>("Holder").implement({
    fields: (t) => ({
      tokenId: t.expose("tokenId", { type: "TokenId" }),
      address: t.field({ type: "Address", resolve: (row) => row.owner }),
      amount: t.expose("amount", { type: "Uint256", description: "1 for ERC-721." }),
    }),
  });
  const connection = connectionOf<Holder, Page<Holder>>(builder, "Holder", holder);
  builder.queryField("holders", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "Who holds which token of a contract, by token id and address: now, or as it was after a block.",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId" }),
        atBlock: t.arg({ type: "Uint256", description: "A block that the index has reached." }),
        first: t.arg.int(),
        after: t.arg.string(),
        last: t.arg.int(),
        before: t.arg.string(),
      },
      complexity: (args) => specialCost(args, args.atBlock == null ? prices.distinct : prices.replay),
      resolve: async (_root, args, context) =>
        await listHolders(context.services, await context.caller(), {
          chain: args.chain,
          contract: args.contract,
          tokenId: args.tokenId ?? undefined,
          atBlock: args.atBlock == null ? undefined : args.atBlock < 2n ** 63n ? args.atBlock : 2n ** 63n - 1n,
          page: pageRequestOf(args),
        }),
    }),
  );
}

function addStatistics(builder: Builder): void {
  const statistics = builder.objectRef<CollectionStatistics>("CollectionStatistics").implement({
    fields: (t) => ({
      totalSupply: t.expose("totalSupply", { type: "Uint256", description: "Minted minus burned." }),
      totalMinted: t.expose("totalMinted", { type: "Uint256" }),
      ownerCount: t.int({ description: "Distinct holders now.", resolve: (row) => Number(row.ownerCount) }),
      tokenCount: t.int({
        description: "Token ids with a supply above zero.",
        resolve: (row) => Number(row.tokenCount),
      }),
      transferCount: t.int({ resolve: (row) => Number(row.transferCount) }),
      withheldTokens: t.expose("withheldTokens", {
        type: "Uint256",
        description:
          "Tokens that ERC-2309 logs named beyond the index's allowances; those of them that moved since are listed and counted, the others are not.",
      }),
    }),
  });
  builder.queryField("collectionStatistics", (t) =>
    t.field({
      type: statistics,
      nullable: true,
      description: "A contract in numbers, from the chain alone.",
      args: { chain: t.arg.string({ required: true }), contract: t.arg({ type: "Address", required: true }) },
      complexity: prices.report,
      resolve: async (_root, input, context) =>
        await getCollectionStatistics(context.services, await context.caller(), input),
    }),
  );
}

function addTraits(builder: Builder): void {
  const value = builder.objectRef<TraitSummary["values"][number]>("TraitValue").implement({
    fields: (t) => ({
      value: t.exposeString("value"),
      tokenCount: t.int({ resolve: (row) => Number(row.tokenCount) }),
    }),
  });
  const trait = builder.objectRef<TraitSummary>("Trait").implement({
    fields: (t) => ({
      name: t.exposeString("name"),
      tokenCount: t.int({
        description: "How often it occurs, with any value.",
        resolve: (row) => Number(row.tokenCount),
      }),
      values: t.expose("values", {
        type: [value],
        description: "The 100 most frequent ones.",
        complexity: { multiplier: 1 },
      }),
    }),
  });
  builder.queryField("traits", (t) =>
    t.field({
      type: [trait],
      nullable: true,
      description: "How often each trait and value occurs in the metadata of a contract.",
      args: { chain: t.arg.string({ required: true }), contract: t.arg({ type: "Address", required: true }) },
      complexity: { field: prices.report, multiplier: 20 },
      resolve: async (_root, input, context) => await listTraits(context.services, await context.caller(), input),
    }),
  );
}
