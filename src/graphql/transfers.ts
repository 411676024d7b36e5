import type { Page } from "../nfts/page.ts";
import { listTransfers, type TransferWord } from "../transfers/list-transfers.ts";
import type { Transfer } from "../transfers/transfer-record.ts";
import type { Builder } from "./builder.ts";
import { connectionCost, pageRequestOf } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";
import { connectionOf } from "./page-types.ts";

const words = {
  TRANSFER: "transfer",
  MINT: "mint",
  BURN: "burn",
  TRANSFER_FROM: "transfer_from",
  TRANSFER_TO: "transfer_to",
} as const satisfies Record<string, TransferWord>;

/** What moved: of an account, a contract, a token or a whole chain. */
export function addTransfers(builder: Builder): void {
  const { standard } = nftTypes(builder);
  const kind = builder.enumType("TransferKind", {
    description: "TRANSFER_FROM and TRANSFER_TO: as seen from the account that was asked for.",
    values: Object.keys(words) as (keyof typeof words)[],
  });
  const transfer = builder.objectRef<Transfer>("Transfer").implement({
    description: "One token that moved; a batch is one of these for each token id.",
    fields: (t) => ({
      chain: t.exposeString("chain"),
      kind: t.field({
        type: kind,
        description: "TRANSFER, MINT or BURN.",
        resolve: (row) => ({ transfer: "TRANSFER", mint: "MINT", burn: "BURN" })[row.kind] as "TRANSFER",
      }),
      contractAddress: t.field({ type: "Address", resolve: (row) => row.contract }),
      tokenId: t.expose("tokenId", { type: "TokenId" }),
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
  const connection = connectionOf<Transfer, Page<Transfer>>(builder, "Transfer", transfer);

  builder.queryField("transfers", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "What moved on a chain, newest first: block, then log. Ranges include both ends.",
      args: {
        chain: t.arg.string({ required: true }),
        account: t.arg({ type: "Address", description: "From or to this account." }),
        contract: t.arg({ type: "Address" }),
        tokenId: t.arg({ type: "TokenId", description: "Together with the contract." }),
        kinds: t.arg({ type: [kind], description: "Absent: all kinds." }),
        fromBlock: t.arg({ type: "Uint256" }),
        toBlock: t.arg({ type: "Uint256" }),
        since: t.arg({ type: "DateTime" }),
        until: t.arg({ type: "DateTime" }),
        first: t.arg.int(),
        after: t.arg.string(),
        last: t.arg.int(),
        before: t.arg.string(),
      },
      complexity: connectionCost,
      resolve: async (_root, args, context) =>
        await listTransfers(context.services, await context.caller(), {
          chain: args.chain,
          account: args.account ?? undefined,
          contract: args.contract ?? undefined,
          tokenId: args.tokenId ?? undefined,
          kinds: args.kinds?.map((word) => words[word]),
          fromBlock: blockOf(args.fromBlock),
          toBlock: blockOf(args.toBlock),
          since: args.since == null ? undefined : BigInt(Math.ceil(args.since.getTime() / 1000)),
          until: args.until == null ? undefined : BigInt(Math.floor(args.until.getTime() / 1000)),
          page: pageRequestOf(args),
        }),
    }),
  );
}

/** No chain has a block beyond 2^63, and no column could hold its number. */
function blockOf(block: bigint | null | undefined): bigint | undefined {
  if (block == null) return undefined;
  return block < 2n ** 63n ? block : 2n ** 63n - 1n;
}
