import type { Address } from "viem";
import { admitReading } from "../accounts/admit-address.ts";
import { findChain } from "../chains.ts";
import { type PublicSale, watchSale } from "../collections/public-sale.ts";
import { askerOf } from "./asker.ts";
import { type Builder, sessionOf } from "./builder.ts";

/** The counter of a minting page, told as it changes: from browsers, so it needs no key. */
export function addSale(builder: Builder): void {
  const sale = builder.objectRef<PublicSale>("CollectionSale").implement({
    description: "Supply and sale of a collection, as its contract says them.",
    fields: (t) => ({
      chain: t.field({ type: "ChainName", resolve: ({ chain }) => chain.name }),
      address: t.expose("address", { type: "Address" }),
      name: t.exposeString("name"),
      symbol: t.exposeString("symbol"),
      maxSupply: t.expose("maxSupply", { type: "Uint256" }),
      minted: t.expose("minted", { type: "Uint256" }),
      reserved: t.expose("reserved", {
        type: "Uint256",
        description: "Of the tokens that are not minted, those that only an admin mints.",
      }),
      tokensPerMint: t.expose("tokensPerMint", { type: "Uint256" }),
      publicPriceWei: t.expose("publicPriceWei", { type: "Wei" }),
      presalePriceWei: t.expose("presalePriceWei", { type: "Wei" }),
      publicStart: t.expose("publicStart", {
        type: "Uint256",
        nullable: true,
        description: "Unix seconds; the sale is open in blocks after it. Null: never.",
      }),
      presaleStart: t.expose("presaleStart", {
        type: "Uint256",
        nullable: true,
        description: "The same of the presale.",
      }),
      revealed: t.boolean({ resolve: ({ baseUri }) => baseUri !== "" }),
      block: t.expose("block", { type: "Uint256" }),
      blockTime: t.expose("blockTime", {
        type: "Uint256",
        description: "Unix seconds, as of the reading, which may be a minute old: the clock that decides.",
      }),
    }),
  });
  builder.subscriptionField("collection", (t) =>
    t.field({
      type: sale,
      description:
        "Supply and sale of a collection, now and after each change, for half an hour. Needs no key. The counter is some seconds behind the index, and at most a minute old of a contract that the index does not tell of.",
      complexity: 50,
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        collection: t.arg({ type: "Address", required: true }),
      },
      subscribe: async (_root, { chain, collection }, context) => {
        const { services, address } = context;
        const account = await sessionOf(context).catch(() => null);
        const admit = async (calls: number) => {
          if (!findChain(services.chains, chain).local) await admitReading(services, account ?? address ?? null, calls);
        };
        return await watchSale(services, await askerOf(context), { chain, collection: collection as Address }, admit);
      },
      resolve: (item: PublicSale) => item,
    }),
  );
}
