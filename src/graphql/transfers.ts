import type { InputShapeFromFields } from "@pothos/core";
import type { Page } from "../nfts/page.ts";
import {
  listTransfersOfEach,
  type Transfer,
  type TransferKey,
  type TransferWord,
} from "../transfers/list-transfers.ts";
import { accountType } from "./accounts.ts";
import { type Builder, type GraphQLContext, oncePerBuilder } from "./builder.ts";
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

/** What moved: of a chain, a contract, a token or an account. */
export function addTransfers(builder: Builder): void {
  const { contract, nft } = nftTypes(builder);
  const { connection } = transferTypes(builder);
  const field = { type: connection, nullable: true, complexity: connectionCost } as const;
  builder.objectField(chainType(builder), "transfers", (t) =>
    t.field({
      ...field,
      description: `What moved on the chain. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ name }, args, context) => await read(context, name, args, {}),
    }),
  );
  builder.objectField(contract, "transfers", (t) =>
    t.field({
      ...field,
      description: `What moved of its tokens. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ chain, address }, args, context) => await read(context, chain, args, { contract: address }),
    }),
  );
  builder.objectField(nft, "transfers", (t) =>
    t.field({
      ...field,
      description: `Its history. ${order}`,
      args: transferArgs(builder),
      resolve: async ({ chain, contractAddress: contract, tokenId }, args, context) =>
        await read(context, chain, args, { contract, tokenId }),
    }),
  );
  builder.objectField(accountType(builder), "transfers", (t) =>
    t.field({
      ...field,
      description: `What moved from or to the account. ${order}`,
      args: { chain: t.arg({ type: "ChainName", required: true }), ...transferArgs(builder) },
      resolve: async ({ address }, { chain, ...args }, context) =>
        await read(context, chain, args, { account: address }),
    }),
  );
}

const order = "Newest first: block, then log. Ranges include both ends.";

const transferArgs = oncePerBuilder((builder) => {
  const { kind } = transferTypes(builder);
  return {
    ...builder.args((t) => ({
      kinds: t.field({ type: [kind], description: "Absent: all kinds." }),
      fromBlock: t.field({ type: "Uint256" }),
      toBlock: t.field({ type: "Uint256" }),
      since: t.field({ type: "DateTime" }),
      until: t.field({ type: "DateTime" }),
    })),
    ...pageArgs(builder),
  };
});

type TransferArgs = InputShapeFromFields<ReturnType<typeof transferArgs>>;

/** Together with the same list of the objects beside. */
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
    description: "TRANSFER_FROM and TRANSFER_TO: as seen from the account that was asked for.",
    values: Object.keys(words) as (keyof typeof words)[],
  });
  const transfer = builder.objectRef<Transfer>("Transfer").implement({
    description: "One token that moved; a batch is one of these for each token id.",
    fields: (t) => ({
      chain: t.expose("chain", { type: "ChainName" }),
      kind: t.field({
        type: kind,
        description: "TRANSFER, MINT or BURN.",
        resolve: (row) => ({ transfer: "TRANSFER", mint: "MINT", burn: "BURN" })[row.kind] as "TRANSFER",
      }),
      contractAddress: t.field({ type: "Address", resolve: (row) => row.contract }),
      contract: t.field({
        type: contract,
        nullable: true,
        resolve: async (row, _args, context) => await loadContract(context, row.chain, row.contract),
      }),
      tokenId: t.expose("tokenId", { type: "TokenId" }),
      nft: t.field({
        type: nft,
        nullable: true,
        description: "The token as it is now.",
        resolve: async (row, _args, context) => await loadNft(context, row),
      }),
      standard: t.expose("standard", { type: standard }),
      from: t.expose("from", { type: "Address", description: "The zero address for a mint." }),
      to: t.expose("to", { type: "Address", description: "The zero address for a burn." }),
      operator: t.expose("operator", { type: "Address", nullable: true, description: "Of ERC-1155 only." }),
      amount: t.expose("amount", { type: "Uint256" }),
      transactionHash: t.expose("transactionHash", { type: "Hex" }),
      sender: t.expose("sender", { type: "Address", description: "Sender of the transaction." }),
      blockHash: t.expose("blockHash", { type: "Hex" }),
      blockNumber: t.expose("blockNumber", { type: "Uint256" }),
      timestamp: t.field({ type: "DateTime", resolve: (row) => new Date(Number(row.blockTimestamp) * 1000) }),
      logIndex: t.exposeInt("logIndex"),
    }),
  });
  return { kind, connection: connectionOf<Transfer, Page<Transfer>>(builder, "Transfer", transfer) };
});

/** No chain has a block beyond 2^63, and no column could hold its number. */
function blockOf(block: bigint | null | undefined): bigint | undefined {
  if (block == null) return undefined;
  return block < 2n ** 63n ? block : 2n ** 63n - 1n;
}
