import {
  type HeldContract,
  type HeldContractPage,
  listContractsOfEachAccount,
} from "../accounts/list-account-contracts.ts";
import { listAcquiredOfEach } from "../accounts/list-acquired-nfts.ts";
import { listNewestOfEach, listNftsOfEachAccount } from "../nfts/list-nfts.ts";
import { type Builder, chainArg, oncePerBuilder } from "./builder.ts";
import {
  connectionCost,
  connectionOf,
  pageArgs,
  pageRequestOf,
  prices,
  shownParts,
  specialCost,
} from "./connection.ts";
import { loadByAddress } from "./load-together.ts";
import { checkedAddress, nftTypes } from "./nft-types.ts";

/** Any address; it need not have an account with this service. */
export const accountType = oncePerBuilder((builder) => builder.objectRef<{ address: string }>("Account"));

/** `Account`: an EVM address and the NFTs it owns. */
export function addAccounts(builder: Builder): void {
  const { connection, contract, standard } = nftTypes(builder);
  const held = builder.objectRef<HeldContract>("HeldContract").implement({
    description: "A contract of which an account owns tokens, and how many.",
    fields: (t) => ({
      contract: t.expose("contract", { type: contract, description: "The contract of the tokens." }),
      tokenCount: t.int({
        description: "How many token ids of the contract the account owns. Amounts of ERC-1155 are not added up.",
        resolve: (row) => Number(row.holdingCount),
      }),
    }),
  });
  const contracts = connectionOf<HeldContract, HeldContractPage>(builder, "HeldContract", held, {
    description: "The number of contracts in the whole list.",
    of: (page) => page.total,
  });

  const account = builder.node(accountType(builder), {
    description: "A wallet or contract, by its address. It need not own any token.",
    id: { resolve: ({ address }) => address },
    loadMany: async (ids: string[]) => ids.map((id) => ({ address: checkedAddress(id) })),
    fields: (t) => ({
      address: t.expose("address", { type: "Address", description: "The address of the account." }),
      nfts: t.field({
        type: connection,
        nullable: true,
        description: "The account's tokens on one chain, ordered by contract and token id.",
        args: {
          chain: t.arg(chainArg),
          contract: t.arg({ type: "Address", description: "Only tokens of this contract. All contracts if omitted." }),
          exclude: t.arg({ type: [standard], description: "Token standards to exclude." }),
          ...pageArgs(builder),
        },
        complexity: connectionCost,
        resolve: async ({ address }, args, context, info) => {
          const { chain, contract } = args;
          const request = {
            chain,
            exclude: args.exclude ?? [],
            page: pageRequestOf(args),
            parts: shownParts(info),
          };
          return await loadByAddress(context, info, address, [contract, request], (caller, accounts) =>
            listNftsOfEachAccount(
              context.services,
              caller,
              request,
              accounts.map((account) => ({ account, contract: contract ?? undefined })),
            ),
          );
        },
      }),
      acquiredNfts: t.field({
        type: connection,
        nullable: true,
        description: "The account's tokens on several chains, last acquired first.",
        args: {
          chains: t.arg({
            type: ["ChainName"],
            description: "Only tokens of these chains. All chains of this installation if omitted.",
          }),
          contracts: t.arg({
            type: ["Address"],
            description: "Only tokens of these contracts. All contracts if omitted.",
          }),
          exclude: t.arg({ type: [standard], description: "Token standards to exclude." }),
          ...pageArgs(builder),
        },
        complexity: (args) => specialCost(args, prices.distinct),
        resolve: async ({ address }, args, context, info) => {
          const request = {
            chains: args.chains ?? [],
            contracts: args.contracts ?? [],
            exclude: args.exclude ?? [],
            page: pageRequestOf(args),
            parts: shownParts(info),
          };
          return await loadByAddress(context, info, address, request, (caller, accounts) =>
            listAcquiredOfEach(context.services, caller, request, accounts),
          );
        },
      }),
      createdNfts: t.field({
        type: connection,
        nullable: true,
        description: "Tokens whose `creator` is this account, without burned ones; newest mint first.",
        args: {
          chain: t.arg(chainArg),
          ...pageArgs(builder),
        },
        complexity: connectionCost,
        resolve: async ({ address }, args, context, info) => {
          const request = {
            chain: args.chain,
            page: pageRequestOf(args),
            parts: shownParts(info),
          };
          const page = await loadByAddress(context, info, address, request, (caller, accounts) =>
            listNewestOfEach(context.services, caller, request, accounts),
          );
          return { ...page, total: null };
        },
      }),
      contracts: t.field({
        type: contracts,
        nullable: true,
        description: "The contracts of which the account owns a token, ordered by address.",
        args: {
          chain: t.arg(chainArg),
          ...pageArgs(builder),
        },
        complexity: (args) => specialCost(args, prices.distinct),
        resolve: async ({ address }, args, context, info) => {
          const request = { chain: args.chain, page: pageRequestOf(args) };
          return await loadByAddress(context, info, address, request, (caller, accounts) =>
            listContractsOfEachAccount(context.services, caller, request, accounts),
          );
        },
      }),
    }),
  });

  builder.queryField("account", (t) =>
    t.field({
      type: account,
      description: "An account and its tokens, by address.",
      args: {
        address: t.arg({ type: "Address", required: true, description: "The address of a wallet or contract." }),
      },
      resolve: async (_root, { address }, context) => {
        await context.caller();
        return { address };
      },
    }),
  );
}
