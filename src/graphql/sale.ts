import { admitReading } from "../accounts/admit-address.ts";
import { findChain } from "../chains.ts";
import { type Eligibility, getEligibility, type Ineligibility } from "../collections/eligibility.ts";
import { type PublicSale, watchSale } from "../collections/public-sale.ts";
import { askerOf, type Builder, present, sessionOf } from "./builder.ts";

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
        return await watchSale(services, await askerOf(context), { chain, collection }, admit);
      },
      resolve: (item: PublicSale) => item,
    }),
  );
}

/** The presale question of a wallet; minting pages ask it from browsers, so it needs no key. */
export function addEligibility(builder: Builder): void {
  const reason = builder.enumType("IneligibilityReason", {
    values: {
      NO_PRESALE: { description: "The collection has no presale." },
      NO_LIST: { description: "The collection has no presale list." },
      NOT_LISTED: {},
      ALREADY_MINTED: { description: "The wallet has made its one presale mint." },
      LIST_REPLACED: { description: "The collection has another list by now than the one that was asked about." },
      LIST_CHANGED_ON_CHAIN: { description: "An admin of the collection replaced the list elsewhere." },
    } satisfies Record<Ineligibility, { description?: string }>,
  });
  const eligibility = builder.objectRef<Eligibility>("Eligibility").implement({
    description: "Whether a wallet is on the presale list, and what its mint needs.",
    fields: (t) => ({
      eligible: t.exposeBoolean("eligible"),
      reason: t.expose("reason", { type: reason, nullable: true }),
      proof: t.field({
        type: ["Hex"],
        nullable: true,
        description: "The argument of `presaleMint`; empty for a list of one; null for a wallet that is not listed.",
        resolve: ({ proof }) => proof,
      }),
      root: t.field({ type: "Hex", description: "The root that the proof leads to.", resolve: ({ root }) => root }),
      presaleStart: t.field({
        type: "DateTime",
        nullable: true,
        description: "The presale is open after this moment; null: there is none.",
        resolve: ({ presaleStart }) => presaleStart,
      }),
    }),
  });
  builder.queryField("eligibility", (t) =>
    t.field({
      type: eligibility,
      nullable: true,
      description:
        "Whether a wallet may mint in a collection's presale, with its proof. Needs no key; answers for one wallet at a time. What the contract says may be two seconds old.",
      // Reads of a node. With the most aliases of a document it is still within the most of an operation.
      complexity: 50,
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        collection: t.arg({ type: "Address", required: true }),
        wallet: t.arg({ type: "Address", required: true }),
        root: t.arg({
          type: "Hex",
          description: "Of the list to look in, for proofs of lists that were replaced; default: the list in force.",
        }),
      },
      resolve: async (_root, args, context) =>
        await getEligibility(context.services, present(args), await askerOf(context)),
    }),
  );
}
