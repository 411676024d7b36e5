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
        "One contract with NFTs; null for one that is not indexed, and `notIndexed` says why. A contract whose Transfer event has other indexed parameters than ERC-721's (CryptoKitties, Axie) never is.",
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
    description: "Why the index has nothing of a contract.",
    values: {
      NO_NFT_LOGS: {
        description:
          "The index has seen no log of an NFT of it, up to the block that `extensions.freshness` names. It may have none yet; or its Transfer event is not ERC-721's, as that of CryptoKitties and Axie, and it never will be indexed.",
      },
      FUNGIBLE: {
        description: "It is an ERC-20 that indexes the value of its transfers, which makes its logs those of ERC-721.",
      },
      OUT_OF_SCOPE: { description: "This installation indexes other contracts of the chain only." },
      INDEX_BEHIND: { description: "The index of the chain has not caught up: ask again later." },
    } satisfies Record<NotIndexedReason, { description: string }>,
  });
  const type = builder.objectRef<NotIndexed>("NotIndexed").implement({
    description: "Why the index has nothing of a contract, for programs and for people.",
    fields: (t) => ({
      reason: t.expose("reason", { type: reason, description: "The reason for programs." }),
      message: t.exposeString("message", { description: "The reason in English, for people." }),
    }),
  });
  builder.queryField("notIndexed", (t) =>
    t.field({
      type,
      nullable: true,
      description:
        "Why `contract` is null, and the tokens of that contract are not found; null for a contract that is indexed. Ask for it beside them, in the same request.",
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
      description: "The tokens of the contract that are not burned, by token id.",
      args: {
        traits: t.arg({ type: traitFilter(builder), description: "Only tokens whose traits meet this condition." }),
        owner: t.arg({
          type: "Address",
          description: "Only tokens that this account holds; not together with traits.",
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
    description: "An account that holds tokens of a contract.",
    fields: (t) => ({
      address: t.field({ type: "Address", description: "The address of the owner.", resolve: (row) => row.owner }),
      tokenCount: t.int({
        description: "How many token ids of the contract the owner holds.",
        resolve: (row) => Number(row.holdingCount),
      }),
    }),
  });
  const connection = connectionOf<CollectionOwner, CollectionOwnerPage>(builder, "ContractOwner", owner, {
    description: "How many distinct owners there are. Counting is expensive: ask once, not with each page.",
    of: (page) => page.total,
    price: prices.counted,
  });
  builder.objectField(contract, "owners", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "Who holds its tokens now, each owner once, by address.",
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
    description: "Counts over all tokens and transfers of a contract, from the chain alone.",
    fields: (t) => ({
      totalSupply: t.expose("totalSupply", {
        type: "Uint256",
        description: "Units minted minus units burned; of ERC-721 the number of live tokens.",
      }),
      totalMinted: t.expose("totalMinted", {
        type: "Uint256",
        description: "Units ever minted, with those that were burned since.",
      }),
      ownerCount: t.int({
        description: "How many distinct accounts hold tokens of the contract now.",
        resolve: (row) => Number(row.ownerCount),
      }),
      tokenCount: t.int({
        description: "How many token ids have a supply above zero.",
        resolve: (row) => Number(row.tokenCount),
      }),
      transferCount: t.int({
        description: "How many transfers there were, mints and burns included.",
        resolve: (row) => Number(row.transferCount),
      }),
      withheldTokens: t.expose("withheldTokens", {
        type: "Uint256",
        description:
          "Tokens minted in ranges (ERC-2309) that are too large for the index: those that moved since are listed and counted, the others are not.",
      }),
    }),
  });
  builder.objectField(contract, "statistics", (t) =>
    t.field({
      type: statistics,
      nullable: true,
      description: "Supply, owners and transfers of the contract in numbers.",
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
    description: "One value of a trait, and how many tokens have it.",
    fields: (t) => ({
      value: t.exposeString("value", { description: "The value as text, as it is written in the metadata." }),
      tokenCount: t.int({ description: "How many tokens have this value.", resolve: (row) => Number(row.tokenCount) }),
    }),
  });
  const trait = builder.objectRef<TraitSummary>("Trait").implement({
    description: "A trait that occurs in the metadata of a contract's tokens.",
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
        description: "The values of the trait, the 100 most frequent ones.",
        complexity: { multiplier: 1 },
      }),
    }),
  });
  builder.objectField(contract, "traits", (t) =>
    t.field({
      type: [trait],
      nullable: true,
      description: "How often each trait and value occurs in the metadata of its tokens.",
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
    description: "A reason why metadata could not be read, and for how many tokens of the contract.",
    fields: (t) => ({
      code: t.exposeString("code", {
        description: "The code that `metadataError` of these tokens has, such as http_404.",
      }),
      count: t.exposeInt("count", { description: "How many tokens failed for this reason." }),
    }),
  });
  const progress = builder.objectRef<MetadataProgress>("MetadataProgress").implement({
    description: "How far the metadata of a contract's live tokens has been read.",
    fields: (t) => ({
      total: t.exposeInt("total", { description: "How many live tokens the contract has." }),
      fresh: t.exposeInt("fresh", { description: "How many of them have metadata that was read." }),
      pending: t.exposeInt("pending", {
        description: "How many wait to be read, for the first time or again; counted up to 100,000.",
      }),
      failed: t.exposeInt("failed", { description: "How many could not be read; counted up to 100,000." }),
      faults: t.field({
        type: [fault],
        complexity: { multiplier: 1 },
        description: "Why tokens failed, the most frequent reason first.",
        resolve: ({ faults }) => [...faults],
      }),
    }),
  });
  builder.objectField(contract, "metadataProgress", (t) =>
    t.field({
      type: progress,
      nullable: true,
      description: "How far the metadata of the contract's live tokens has been read.",
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

/** The input type of a condition on traits. */
const traitFilter = oncePerBuilder((builder) => {
  const filter = builder.inputRef<TraitFilter>("TraitFilter");
  filter.implement({
    description:
      "A condition on a token's traits; members of one filter are joined by and. A request may have 8 conditions, every value counted.",
    fields: (t) => ({
      and: t.field({ type: [filter], description: "All of these conditions hold." }),
      or: t.field({ type: [filter], description: "At least one of these conditions holds." }),
      not: t.field({ type: filter, description: "This condition does not hold." }),
      name: t.string({ description: "The name of the trait; alone, it matches tokens that have it with any value." }),
      values: t.stringList({ description: "The trait has one of these values, as they are written in the metadata." }),
      min: t.float({ description: "The trait is a number from this one on, itself included." }),
      max: t.float({ description: "The trait is a number up to this one, itself included." }),
    }),
  });
  return filter;
});
