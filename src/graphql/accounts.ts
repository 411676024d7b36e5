import {
  type HeldContract,
  type HeldContractPage,
  listContractsOfEachAccount,
} from "../accounts/list-account-contracts.ts";
import { listAcquiredOfEach } from "../accounts/list-acquired-nfts.ts";
import { listNewestOfEach, listNftsOfEachAccount } from "../nfts/list-nfts.ts";
import { type Builder, oncePerBuilder } from "./builder.ts";
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

/** Any address. */
export const accountType = oncePerBuilder((builder) => builder.objectRef<{ address: string }>("Account"));

/** An EVM account and what it holds. */
export function addAccounts(builder: Builder): void {
  const { connection, contract, standard } = nftTypes(builder);
  const held = builder.objectRef<HeldContract>("HeldContract").implement({
    fields: (t) => ({
      contract: t.expose("contract", { type: contract }),
      tokenCount: t.int({
        description: "Token ids of the contract that the account holds.",
        resolve: (row) => Number(row.holdingCount),
      }),
    }),
  });
  const contracts = connectionOf<HeldContract, HeldContractPage>(builder, "HeldContract", held, {
    description: "All contracts of the list.",
    of: (page) => page.total,
  });

  const account = builder.node(accountType(builder), {
    description: "Any address; it need not have held anything yet.",
    id: { resolve: ({ address }) => address },
    loadMany: async (ids: string[]) => ids.map((id) => ({ address: checkedAddress(id) })),
    fields: (t) => ({
      address: t.expose("address", { type: "Address" }),
      nfts: t.field({
        type: connection,
        nullable: true,
        description: "What the account holds on one chain, by contract and token id.",
        args: {
          chain: t.arg({ type: "ChainName", required: true }),
          contract: t.arg({ type: "Address", description: "Only tokens of this contract." }),
          exclude: t.arg({ type: [standard], description: "Kinds of tokens to leave out." }),
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
        description: "What the account holds on several chains, last acquired first.",
        args: {
          chains: t.arg({ type: ["ChainName"], description: "Absent: all chains of this installation." }),
          contracts: t.arg({ type: ["Address"], description: "Only tokens of these contracts." }),
          exclude: t.arg({ type: [standard], description: "Kinds of tokens to leave out." }),
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
        description: "Live tokens whose minting transaction the account sent, newest mint first.",
        args: {
          chain: t.arg({ type: "ChainName", required: true }),
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
        description: "Contracts of which the account holds a token, by address.",
        args: {
          chain: t.arg({ type: "ChainName", required: true }),
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
      args: { address: t.arg({ type: "Address", required: true }) },
      resolve: async (_root, { address }, context) => {
        await context.caller();
        return { address };
      },
    }),
  );
}
