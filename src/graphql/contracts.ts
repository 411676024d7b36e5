import { ServiceError } from "../errors/errors.ts";
import {
  type CollectionStatistics,
  getProgressOfEach,
  getStatisticsOfEach,
  type MetadataProgress,
} from "../nfts/collection-statistics.ts";
import { getContracts } from "../nfts/get-contracts.ts";
import { listNftsOfEachAccount, listNftsOfEachContract } from "../nfts/list-nfts.ts";
import { type CollectionOwner, type CollectionOwnerPage, listOwnersOfEach } from "../nfts/list-owners.ts";
import { type NotIndexed, type NotIndexedReason, whyNotIndexed } from "../nfts/not-indexed.ts";
import {
  countConditions,
  listTraitsOfEach,
  maxTraitConditions,
  type TraitFilter,
  type TraitSummary,
} from "../nfts/traits.ts";
import { type Builder, chainArg, contractArg, oncePerBuilder } from "./builder.ts";
import { connectionOf, pageArgs, pageRequestOf, prices, selects, shownParts, specialCost } from "./connection.ts";
import { loadByAddress } from "./load-together.ts";
import { type NftPage, nftTypes } from "./nft-types.ts";

/** Contracts and their tokens, owners, statistics and traits. */
export function addContracts(builder: Builder): void {
  const { contract } = nftTypes(builder);
  builder.queryField("contract", (t) =>
    t.field({
      type: contract,
      nullable: true,
      description:
        "An NFT contract. Null if it is not indexed; `notIndexed` has the reason. Contracts whose Transfer event indexes other parameters than ERC-721's (CryptoKitties, Axie) are never indexed.",
      args: {
        chain: t.arg(chainArg),
        address: t.arg(contractArg),
      },
      resolve: async (_root, key, context) =>
        (await getContracts(context.services, await context.caller(), [key], "whole"))[0] ?? null,
    }),
  );
  addNotIndexed(builder);
  addContractNfts(builder);
  addOwners(builder);
  addStatistics(builder);
  addTraits(builder);
  addMetadataProgress(builder);
}

/** Why a contract is missing, for clients that show the reason to their users. */
function addNotIndexed(builder: Builder): void {
  const reason = builder.enumType("NotIndexedReason", {
    description: "Why the index has no data of a contract.",
    values: {
      NO_NFT_LOGS: {
        description:
          "The contract has emitted no NFT event up to the block in `extensions.freshness`. It may have no token yet; or its Transfer event differs from ERC-721's, as that of CryptoKitties and Axie does, and it will never be indexed.",
      },
      FUNGIBLE: {
        description:
          "The contract is an ERC-20 that indexes the value of its transfers, so that its logs look like those of ERC-721.",
      },
      OUT_OF_SCOPE: { description: "This installation indexes only other contracts of the chain." },
      INDEX_BEHIND: { description: "The chain's index has not caught up. Try again later." },
    } satisfies Record<NotIndexedReason, { description: string }>,
  });
  const type = builder.objectRef<NotIndexed>("NotIndexed").implement({
    description: "Why the index has no data of a contract.",
    fields: (t) => ({
      reason: t.expose("reason", { type: reason, description: "A code for the reason." }),
      message: t.exposeString("message", { description: "The reason in English." }),
    }),
  });
  builder.queryField("notIndexed", (t) =>
    t.field({
      type,
      nullable: true,
      description:
        "Why `contract` is null and its tokens are not found. Null if the contract is indexed. Query it along with them, in the same request.",
      args: {
        chain: t.arg(chainArg),
        address: t.arg(contractArg),
      },
      resolve: async (_root, key, context) => whyNotIndexed(context.services, await context.caller(), key),
    }),
  );
}

function addContractNfts(builder: Builder): void {
  const { contract, connection } = nftTypes(builder);
  builder.objectField(contract, "nfts", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The contract's tokens that are not burned, ordered by token id.",
      args: {
        traits: t.arg({ type: traitFilter(builder), description: "Only tokens whose traits match this filter." }),
        owner: t.arg({
          type: "Address",
          description: "Only tokens of this owner. Cannot be combined with traits.",
        }),
        ...pageArgs(builder),
      },
      complexity: (args) => specialCost(args, traitPrice(args.traits)),
      resolve: async (record, args, context, info) => {
        const { owner } = args;
        const { services } = context;
        const request = {
          chain: record.chain,
          page: pageRequestOf(args),
          parts: shownParts(info),
        };
        if (owner != null && args.traits)
          throw new ServiceError("value_error", "ask for the tokens of an owner or for those with traits", {
            field: "traits",
          });
        return await loadByAddress<NftPage>(
          context,
          info,
          record.address,
          [args, request],
          async (caller, contracts) =>
            owner == null
              ? await listNftsOfEachContract(
                  services,
                  caller,
                  { ...request, traits: args.traits ?? undefined },
                  contracts,
                )
              : await listNftsOfEachAccount(
                  services,
                  caller,
                  { ...request, exclude: [] },
                  contracts.map((address) => ({ account: owner, contract: address })),
                ),
        );
      },
    }),
  );
}

function addOwners(builder: Builder): void {
  const { contract } = nftTypes(builder);
  const owner = builder.objectRef<CollectionOwner>("ContractOwner").implement({
    description: "An account that owns tokens of a contract.",
    fields: (t) => ({
      address: t.field({ type: "Address", description: "The address of the owner.", resolve: (row) => row.owner }),
      tokenCount: t.int({
        description: "How many token ids of the contract the owner has.",
        resolve: (row) => Number(row.holdingCount),
      }),
    }),
  });
  const connection = connectionOf<CollectionOwner, CollectionOwnerPage>(builder, "ContractOwner", owner, {
    description: "The number of distinct owners. Counting is expensive: request it once, not with each page.",
    of: (page) => page.total,
    price: prices.counted,
  });
  builder.objectField(contract, "owners", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The current owners of the contract's tokens, each once, ordered by address.",
      args: pageArgs(builder),
      complexity: (args) => specialCost(args, prices.distinct),
      resolve: async (record, args, context, info) => {
        const request = { chain: record.chain, page: pageRequestOf(args), withTotal: selects(info, "totalCount") };
        return await loadByAddress(context, info, record.address, request, async (caller, contracts) =>
          listOwnersOfEach(context.services, caller, request, contracts),
        );
      },
    }),
  );
}

function addStatistics(builder: Builder): void {
  const { contract } = nftTypes(builder);
  const statistics = builder.objectRef<CollectionStatistics>("ContractStatistics").implement({
    description: "Supply and transfer counts of a contract, from the chain alone.",
    fields: (t) => ({
      totalSupply: t.expose("totalSupply", {
        type: "Uint256",
        description: "Units minted minus units burned. For ERC-721, the number of tokens that are not burned.",
      }),
      totalMinted: t.expose("totalMinted", {
        type: "Uint256",
        description: "Units ever minted, including those burned since.",
      }),
      ownerCount: t.int({
        description: "The number of distinct accounts that own tokens of the contract now.",
        resolve: (row) => Number(row.ownerCount),
      }),
      tokenCount: t.int({
        description: "The number of token ids with a supply above zero.",
        resolve: (row) => Number(row.tokenCount),
      }),
      transferCount: t.int({
        description: "The number of transfers, including mints and burns.",
        resolve: (row) => Number(row.transferCount),
      }),
      withheldTokens: t.expose("withheldTokens", {
        type: "Uint256",
        description:
          "The number of tokens minted in ranges (ERC-2309) that are too large for the index. Only those that moved since are listed and counted.",
      }),
    }),
  });
  builder.objectField(contract, "statistics", (t) =>
    t.field({
      type: statistics,
      nullable: true,
      description: "Supply, owner and transfer counts of the contract.",
      complexity: prices.report,
      resolve: async ({ chain, address }, _args, context, info) =>
        await loadByAddress(context, info, address, chain, (caller, contracts) =>
          getStatisticsOfEach(context.services, caller, chain, contracts),
        ),
    }),
  );
}

function addTraits(builder: Builder): void {
  const { contract } = nftTypes(builder);
  const value = builder.objectRef<TraitSummary["values"][number]>("TraitValue").implement({
    description: "A trait value, and how many tokens have it.",
    fields: (t) => ({
      value: t.exposeString("value", { description: "The value as a string, as written in the metadata." }),
      tokenCount: t.int({
        description: "The number of tokens with this value.",
        resolve: (row) => Number(row.tokenCount),
      }),
    }),
  });
  const trait = builder.objectRef<TraitSummary>("Trait").implement({
    description: "A trait in the metadata of a contract's tokens.",
    fields: (t) => ({
      name: t.exposeString("name", {
        description: "The name of the trait, such as Fur (`trait_type` in the metadata).",
      }),
      tokenCount: t.int({
        description: "How often the trait occurs, with any value.",
        resolve: (row) => Number(row.tokenCount),
      }),
      values: t.expose("values", {
        type: [value],
        description: "The 100 most frequent values of the trait.",
        complexity: { multiplier: 1 },
      }),
    }),
  });
  builder.objectField(contract, "traits", (t) =>
    t.field({
      type: [trait],
      nullable: true,
      description: "How often each trait and value occurs in the metadata of the contract's tokens.",
      complexity: { field: prices.report, multiplier: 20 },
      resolve: async ({ chain, address }, _args, context, info) =>
        await loadByAddress(context, info, address, chain, (caller, contracts) =>
          listTraitsOfEach(context.services, caller, chain, contracts),
        ),
    }),
  );
}

function addMetadataProgress(builder: Builder): void {
  const { contract } = nftTypes(builder);
  const fault = builder.objectRef<MetadataProgress["faults"][number]>("MetadataFault").implement({
    description: "A reason why metadata could not be read, and the number of tokens.",
    fields: (t) => ({
      code: t.exposeString("code", {
        description: "The code in these tokens' `metadataError`, such as http_404.",
      }),
      count: t.exposeInt("count", { description: "The number of tokens that failed for this reason." }),
    }),
  });
  const progress = builder.objectRef<MetadataProgress>("MetadataProgress").implement({
    description: "Progress of reading the metadata of a contract's tokens that are not burned.",
    fields: (t) => ({
      total: t.exposeInt("total", { description: "The number of tokens that are not burned." }),
      fresh: t.exposeInt("fresh", { description: "The number of tokens whose metadata has been read." }),
      pending: t.exposeInt("pending", {
        description: "The number of tokens waiting to be read, for the first time or again; counted up to 100,000.",
      }),
      failed: t.exposeInt("failed", {
        description: "The number of tokens whose metadata could not be read; counted up to 100,000.",
      }),
      faults: t.field({
        type: [fault],
        complexity: { multiplier: 1 },
        description: "The reasons for failures, most frequent first.",
        resolve: ({ faults }) => [...faults],
      }),
    }),
  });
  builder.objectField(contract, "metadataProgress", (t) =>
    t.field({
      type: progress,
      nullable: true,
      description: "Progress of reading the metadata of the contract's tokens that are not burned.",
      complexity: prices.report,
      resolve: async ({ chain, address }, _args, context, info) =>
        await loadByAddress(context, info, address, chain, (caller, contracts) =>
          getProgressOfEach(context.services, caller, chain, contracts),
        ),
    }),
  );
}

/** The price of a trait filter. One with too many conditions must be refused for their number, not for its cost. */
function traitPrice(filter: TraitFilter | null | undefined): number {
  return Math.min(countConditions(filter), maxTraitConditions + 1) * prices.traitCondition;
}

const traitFilter = oncePerBuilder((builder) => {
  const filter = builder.inputRef<TraitFilter>("TraitFilter");
  filter.implement({
    description:
      "A filter on a token's traits. All members of a filter must match. A request can have 8 conditions; every value counts as one.",
    fields: (t) => ({
      and: t.field({ type: [filter], description: "All of these filters must match." }),
      or: t.field({ type: [filter], description: "At least one of these filters must match." }),
      not: t.field({ type: filter, description: "This filter must not match." }),
      name: t.string({
        description: "The name of the trait. On its own, it matches tokens that have the trait with any value.",
      }),
      values: t.stringList({ description: "The trait has one of these values, as written in the metadata." }),
      min: t.float({ description: "The trait is a number greater than or equal to this one." }),
      max: t.float({ description: "The trait is a number less than or equal to this one." }),
    }),
  });
  return filter;
});
