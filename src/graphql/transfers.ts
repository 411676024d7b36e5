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
      description: `Token transfers on the chain, including mints and burns. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ name }, args, context) => await read(context, name, args, {}),
    }),
  );
  builder.objectField(contract, "transfers", (t) =>
    t.field({
      ...field,
      description: `Transfers of the contract's tokens, including mints and burns. ${order}`,
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
      description: `Transfers from or to the account, including mints and burns. ${order}`,
      args: { chain: t.arg(chainArg), ...transferArgs(builder) },
      resolve: async ({ address }, { chain, ...args }, context) =>
        await read(context, chain, args, { account: address }),
    }),
  );
}

const order = "Newest first, by block and log index. Ranges include both ends.";

const transferArgs = oncePerBuilder((builder) => {
  const { kind } = transferTypes(builder);
  return {
    ...builder.args((t) => ({
      kinds: t.field({ type: [kind], description: "Only transfers of these kinds. All kinds if omitted." }),
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
    description: "The kind of a transfer. TRANSFER_FROM and TRANSFER_TO are only for filters.",
    values: {
      TRANSFER: { description: "Between two accounts, in either direction." },
      MINT: { description: "From the zero address." },
      BURN: { description: "To the zero address." },
      TRANSFER_FROM: {
        description: "In an account's list: from that account, without burns. In other lists the same as TRANSFER.",
      },
      TRANSFER_TO: {
        description: "In an account's list: to that account, without mints. In other lists the same as TRANSFER.",
      },
    } satisfies Record<keyof typeof words, { description: string }>,
  });
  const transfer = builder.objectRef<Transfer>("Transfer").implement({
    description: "The transfer of one token. A batch transfer is listed as one transfer per token id.",
    fields: (t) => ({
      chain: t.expose("chain", chainField),
      kind: t.field({
        type: kind,
        description: "The kind of the transfer: TRANSFER, MINT or BURN.",
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
        description: "The contract of the token. Null if the index does not list it.",
        resolve: async (row, _args, context) => await loadContract(context, row.chain, row.contract),
      }),
      tokenId: t.expose("tokenId", { type: "TokenId", description: "The id of the token in its contract." }),
      nft: t.field({
        type: nft,
        nullable: true,
        description: "The token in its current state. Null if the index does not list it.",
        resolve: async (row, _args, context) => await loadNft(context, row),
      }),
      standard: t.expose("standard", { type: standard, description: "The token standard of the contract." }),
      from: t.expose("from", {
        type: "Address",
        description: "The previous owner; the zero address for a mint.",
      }),
      to: t.expose("to", {
        type: "Address",
        description: "The new owner; the zero address for a burn.",
      }),
      operator: t.expose("operator", {
        type: "Address",
        nullable: true,
        description: "The account that moved the token, for ERC-1155. Null for ERC-721.",
      }),
      amount: t.expose("amount", { type: "Uint256", description: "The number of units transferred; 1 for ERC-721." }),
      transactionHash: t.expose("transactionHash", { type: "Hex", description: "The hash of the transaction." }),
      sender: t.expose("sender", { type: "Address", description: "The account that sent the transaction." }),
      blockHash: t.expose("blockHash", { type: "Hex", description: "The hash of the block." }),
      blockNumber: t.expose("blockNumber", { type: "Uint256", description: "The number of the block." }),
      timestamp: t.field({
        type: "DateTime",
        description: "The timestamp of the block.",
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
