import { listAccountNfts } from "../accounts/list-account-nfts.ts";
import type { Builder } from "./builder.ts";
import { connectionCost, pageRequestOf, selects } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

/** An EVM account and what it holds. */
export function addAccounts(builder: Builder): void {
  const { connection, standard } = nftTypes(builder);

  const account = builder.objectRef<{ address: string }>("Account").implement({
    description: "Any address; it need not have held anything yet.",
    fields: (t) => ({
      address: t.expose("address", { type: "Address" }),
      nfts: t.field({
        type: connection,
        nullable: true,
        description: "What the account holds on one chain, by contract and token id.",
        args: {
          chain: t.arg.string({ required: true }),
          contract: t.arg({ type: "Address", description: "Only tokens of this contract." }),
          exclude: t.arg({ type: [standard], description: "Kinds of tokens to leave out." }),
          first: t.arg.int(),
          after: t.arg.string(),
          last: t.arg.int(),
          before: t.arg.string(),
        },
        complexity: connectionCost,
        resolve: async (holder, args, context, info) =>
          listAccountNfts(context.services, await context.caller(), {
            chain: args.chain,
            account: holder.address,
            contract: args.contract ?? undefined,
            exclude: args.exclude ?? [],
            page: pageRequestOf(args),
            parts: { metadata: selects(info, "metadata"), contract: selects(info, "contract") },
          }),
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
