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
import { type Builder, oncePerBuilder } from "./builder.ts";
import { connectionOf, pageArgs, pageRequestOf, prices, selects, shownParts, specialCost } from "./connection.ts";
import { loadByAddress } from "./load-together.ts";
import { type NftPage, nftTypes } from "./nft-types.ts";

/** A contract and what is read of it: its tokens, owners, numbers, traits. */
export function addContracts(builder: Builder): void {
  const { contract } = nftTypes(builder);
  builder.queryField("contract", (t) =>
    t.field({
      type: contract,
      nullable: true,
      description:
        "One contract with NFTs; null for one that is not indexed, and `notIndexed` says why. A contract whose Transfer event has other indexed parameters than ERC-721's (CryptoKitties, Axie) never is.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        address: t.arg({ type: "Address", required: true }),
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

/** Why there is no contract, for whoever shows that to somebody. */
function addNotIndexed(builder: Builder): void {
  const reason = builder.enumType("NotIndexedReason", {
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
    description: "Why the index has nothing of a contract.",
    fields: (t) => ({ reason: t.expose("reason", { type: reason }), message: t.exposeString("message") }),
  });
  builder.queryField("notIndexed", (t) =>
    t.field({
      type,
      nullable: true,
      description:
        "Why `contract` is null, and the tokens of that contract are not found; null for a contract that is indexed. Ask for it beside them, in the same request.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        address: t.arg({ type: "Address", required: true }),
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
      description: "Its live tokens by token id.",
      args: {
        traits: t.arg({ type: traitFilter(builder), description: "Only tokens whose traits are like that." }),
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
    fields: (t) => ({
      address: t.field({ type: "Address", resolve: (row) => row.owner }),
      tokenCount: t.int({
        description: "Token ids it holds of the contract.",
        resolve: (row) => Number(row.holdingCount),
      }),
    }),
  });
  const connection = connectionOf<CollectionOwner, CollectionOwnerPage>(builder, "ContractOwner", owner, {
    description: "Distinct owners. Counted, not looked up: ask once, not with each page.",
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
  builder.objectField(contract, "statistics", (t) =>
    t.field({
      type: statistics,
      nullable: true,
      description: "The contract in numbers, from the chain alone.",
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
  builder.objectField(contract, "metadataProgress", (t) =>
    t.field({
      type: progress,
      nullable: true,
      complexity: prices.report,
      resolve: async ({ chain, address }, _args, context, info) =>
        await loadByAddress(context, info, address, chain, (caller, contracts) =>
          getProgressOfEach(context.services, caller, chain, contracts),
        ),
    }),
  );
}

/** Of a filter. More conditions than a request may have are refused as such, not for their price. */
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
});
