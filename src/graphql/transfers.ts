import type { InputShapeFromFields } from "@pothos/core";
import type { Page } from "../nfts/page.ts";
import {
  listTransfersOfEach,
  type Transfer,
  type TransferKey,
  type TransferWord,
} from "../transfers/list-transfers.ts";
import { accountType } from "./accounts.ts";
import { type Builder, chainArg, chainField, type GraphQLContext, oncePerBuilder } from "./builder.ts";
import { chainType } from "./chains.ts";
import { connectionCost, connectionOf, pageArgs, pageRequestOf } from "./connection.ts";
import { loadTogether } from "./load-together.ts";
import { loadContract, loadNft, nftTypes } from "./nft-types.ts";

const words = {
  TRANSFER: "transfer",
  MINT: "mint",
  BURN: "burn",
  TRANSFER_FROM: "transfer_from",
  TRANSFER_TO: "transfer_to",
} as const satisfies Record<string, TransferWord>;

/** Transfers of a chain, a contract, a token or an account. */
export function addTransfers(builder: Builder): void {
  const { contract, nft } = nftTypes(builder);
  const { connection } = transferTypes(builder);
  const field = { type: connection, nullable: true, complexity: connectionCost } as const;
  builder.objectField(chainType(builder), "transfers", (t) =>
    t.field({
      ...field,
      description: `Transfers of tokens on the chain, mints and burns included. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ name }, args, context) => await read(context, name, args, {}),
    }),
  );
  builder.objectField(contract, "transfers", (t) =>
    t.field({
      ...field,
      description: `Transfers of the tokens of the contract, mints and burns included. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ chain, address }, args, context) => await read(context, chain, args, { contract: address }),
    }),
  );
  builder.objectField(nft, "transfers", (t) =>
    t.field({
      ...field,
      description: `The history of the token: mints, transfers and burns. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ chain, contractAddress: contract, tokenId }, args, context) =>
        await read(context, chain, args, { contract, tokenId }),
    }),
  );
  builder.objectField(accountType(builder), "transfers", (t) =>
    t.field({
      ...field,
      description: `Transfers from or to the account, mints and burns included. ${order}`,
      args: { chain: t.arg(chainArg), ...transferArgs(builder) },
      resolve: async ({ address }, { chain, ...args }, context) =>
        await read(context, chain, args, { account: address }),
    }),
  );
}

const order = "Newest first: by block, then by log. Ranges include both ends.";

const transferArgs = oncePerBuilder((builder) => {
  const { kind } = transferTypes(builder);
  return {
    ...builder.args((t) => ({
      kinds: t.field({ type: [kind], description: "Only transfers of these kinds; of all kinds when absent." }),
      fromBlock: t.field({ type: "Uint256", description: "Only transfers in this block or a later one." }),
      toBlock: t.field({ type: "Uint256", description: "Only transfers in this block or an earlier one." }),
      since: t.field({ type: "DateTime", description: "Only transfers at this time or later." }),
      until: t.field({ type: "DateTime", description: "Only transfers at this time or earlier." }),
    })),
    ...pageArgs(builder),
  };
});

type TransferArgs = InputShapeFromFields<ReturnType<typeof transferArgs>>;

/** Batched with the same list of other objects at this level. */
async function read(context: GraphQLContext, chain: string, args: TransferArgs, key: TransferKey) {
  const request = {
    chain,
    kinds: args.kinds?.map((word) => words[word]),
    fromBlock: blockOf(args.fromBlock),
    toBlock: blockOf(args.toBlock),
    since: args.since == null ? undefined : BigInt(Math.ceil(args.since.getTime() / 1000)),
    until: args.until == null ? undefined : BigInt(Math.floor(args.until.getTime() / 1000)),
    page: pageRequestOf(args),
  };
  const identity = [key.account, key.contract, key.tokenId].join(":");
  return await loadTogether(context, ["transfers", Object.keys(key), request], key, identity, async (keys) =>
    listTransfersOfEach(context.services, await context.caller(), request, keys),
  );
}

const transferTypes = oncePerBuilder((builder) => {
  const { standard, contract, nft } = nftTypes(builder);
  const kind = builder.enumType("TransferKind", {
    description: "What a transfer did to a token. TRANSFER_FROM and TRANSFER_TO are for filters only.",
    values: {
      TRANSFER: { description: "Between two accounts, in either direction." },
      MINT: { description: "From the zero address." },
      BURN: { description: "To the zero address." },
      TRANSFER_FROM: {
        description: "From the account that the list is of, without burns; in other lists the same as TRANSFER.",
      },
      TRANSFER_TO: {
        description: "To the account that the list is of, without mints; in other lists the same as TRANSFER.",
      },
    } satisfies Record<keyof typeof words, { description: string }>,
  });
  const transfer = builder.objectRef<Transfer>("Transfer").implement({
    description: "One token that moved; a batch transfer is one of these for each token id.",
    fields: (t) => ({
      chain: t.expose("chain", chainField),
      kind: t.field({
        type: kind,
        description: "What it was: TRANSFER, MINT or BURN.",
        resolve: (row) => ({ transfer: "TRANSFER", mint: "MINT", burn: "BURN" })[row.kind] as "TRANSFER",
      }),
      contractAddress: t.field({
        type: "Address",
        description: "The address of the token's contract.",
        resolve: (row) => row.contract,
      }),
      contract: t.field({
        type: contract,
        nullable: true,
        description: "The contract of the token; null for one that the index does not list.",
        resolve: async (row, _args, context) => await loadContract(context, row.chain, row.contract),
      }),
      tokenId: t.expose("tokenId", { type: "TokenId", description: "The id of the token in its contract." }),
      nft: t.field({
        type: nft,
        nullable: true,
        description: "The token as it is now; null for one that the index does not list.",
        resolve: async (row, _args, context) => await loadNft(context, row),
      }),
      standard: t.expose("standard", { type: standard, description: "The token standard of the contract." }),
      from: t.expose("from", {
        type: "Address",
        description: "Who held the token before; the zero address for a mint.",
      }),
      to: t.expose("to", {
        type: "Address",
        description: "Who holds the token after it; the zero address for a burn.",
      }),
      operator: t.expose("operator", {
        type: "Address",
        nullable: true,
        description: "Who moved the token, of ERC-1155; null for ERC-721.",
      }),
      amount: t.expose("amount", { type: "Uint256", description: "How many units moved; 1 for ERC-721." }),
      transactionHash: t.expose("transactionHash", { type: "Hex", description: "The hash of the transaction." }),
      sender: t.expose("sender", { type: "Address", description: "The account that sent the transaction." }),
      blockHash: t.expose("blockHash", { type: "Hex", description: "The hash of the block." }),
      blockNumber: t.expose("blockNumber", { type: "Uint256", description: "The number of the block." }),
      timestamp: t.field({
        type: "DateTime",
        description: "The time of the block.",
        resolve: (row) => new Date(Number(row.blockTimestamp) * 1000),
      }),
      logIndex: t.exposeInt("logIndex", { description: "The index of the event log in its block." }),
    }),
  });
  return { kind, connection: connectionOf<Transfer, Page<Transfer>>(builder, "Transfer", transfer) };
});

/** No chain has a block beyond 2^63, and no column could store its number. */
function blockOf(block: bigint | null | undefined): bigint | undefined {
  if (block == null) return undefined;
  return block < 2n ** 63n ? block : 2n ** 63n - 1n;
}
