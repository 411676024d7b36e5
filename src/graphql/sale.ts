import { admitReading } from "../accounts/admit-address.ts";
import { findChain } from "../chains.ts";
import { type Eligibility, getEligibility, type Ineligibility } from "../collections/eligibility.ts";
import { type PublicSale, watchSale } from "../collections/public-sale.ts";
import { askerOf, type Builder, chainArg, chainField, present, sessionOf } from "./builder.ts";

/** The live state of a sale for minting pages. Browsers read it, so it needs no key. */
export function addSale(builder: Builder): void {
  const sale = builder.objectRef<PublicSale>("CollectionSale").implement({
    description: "The supply and sale of a collection, as read from its contract at one block.",
    fields: (t) => ({
      chain: t.field({ ...chainField, resolve: ({ chain }) => chain.name }),
      address: t.expose("address", { type: "Address", description: "The address of the collection." }),
      name: t.exposeString("name", { description: "The name of the collection." }),
      symbol: t.exposeString("symbol", { description: "The symbol of the collection." }),
      maxSupply: t.expose("maxSupply", { type: "Uint256", description: "The maximum number of tokens." }),
      minted: t.expose("minted", { type: "Uint256", description: "The number of tokens minted so far." }),
      reserved: t.expose("reserved", {
        type: "Uint256",
        description: "How many of the tokens not yet minted are reserved for admins.",
      }),
      tokensPerMint: t.expose("tokensPerMint", {
        type: "Uint256",
        description: "The maximum number of tokens in one mint call.",
      }),
      publicPriceWei: t.expose("publicPriceWei", {
        type: "Wei",
        description: "The price of a token in the public sale, in wei.",
      }),
      presalePriceWei: t.expose("presalePriceWei", {
        type: "Wei",
        description: "The price of a token in the presale, in wei.",
      }),
      publicStart: t.expose("publicStart", {
        type: "Uint256",
        nullable: true,
        description: "Unix seconds: the public sale is open in blocks after this time. Null if it never starts.",
      }),
      presaleStart: t.expose("presaleStart", {
        type: "Uint256",
        nullable: true,
        description: "Unix seconds: the presale is open in blocks after this time. Null if there is no presale.",
      }),
      revealed: t.boolean({
        description: "Whether the tokens have their final metadata, that is, whether the contract has a base URI.",
        resolve: ({ baseUri }) => baseUri !== "",
      }),
      block: t.expose("block", { type: "Uint256", description: "The number of the block at which this was read." }),
      blockTime: t.expose("blockTime", {
        type: "Uint256",
        description:
          "The timestamp of that block in Unix seconds, up to a minute old. Compare sale starts with it rather than with your own clock.",
      }),
    }),
  });
  builder.subscriptionField("collection", (t) =>
    t.field({
      type: sale,
      description:
        "The supply and sale of a collection, now and after each change, for half an hour. Requires no key. The count is a few seconds behind the index; for a contract that is not indexed, up to a minute old.",
      complexity: 50,
      args: {
        chain: t.arg(chainArg),
        collection: t.arg({ type: "Address", required: true, description: "The address of the collection." }),
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

/** Whether a wallet may mint in the presale. Browsers of minting pages ask it, so it needs no key. */
export function addEligibility(builder: Builder): void {
  const reason = builder.enumType("IneligibilityReason", {
    description: "Why a wallet may not mint in a presale.",
    values: {
      NO_PRESALE: { description: "The collection has no presale." },
      NO_LIST: { description: "The collection has no presale list, or none with the requested root." },
      NOT_LISTED: { description: "The wallet is not on the presale list." },
      ALREADY_MINTED: { description: "The wallet has already made its one presale mint." },
      LIST_REPLACED: { description: "The requested list is no longer in force: the collection has another list now." },
      LIST_CHANGED_ON_CHAIN: {
        description:
          "An admin of the collection replaced the list without this service, which does not have the new one.",
      },
    } satisfies Record<Ineligibility, { description?: string }>,
  });
  const eligibility = builder.objectRef<Eligibility>("Eligibility").implement({
    description: "Whether a wallet may mint in the presale, with the data that its mint needs.",
    fields: (t) => ({
      eligible: t.exposeBoolean("eligible", {
        description: "Whether the wallet has a presale mint left. It can mint after `presaleStart`.",
      }),
      reason: t.expose("reason", {
        type: reason,
        nullable: true,
        description: "Why the wallet is not eligible. Null if it is.",
      }),
      proof: t.field({
        type: ["Hex"],
        nullable: true,
        description:
          "The Merkle proof for the contract's `presaleMint`. Empty if the list has a single wallet; null if the wallet is not listed.",
        resolve: ({ proof }) => proof,
      }),
      root: t.field({
        type: "Hex",
        description: "The Merkle root of the list that was searched.",
        resolve: ({ root }) => root,
      }),
      presaleStart: t.field({
        type: "DateTime",
        nullable: true,
        description: "The presale is open after this time. Null if there is no presale.",
        resolve: ({ presaleStart }) => presaleStart,
      }),
    }),
  });
  builder.queryField("eligibility", (t) =>
    t.field({
      type: eligibility,
      nullable: true,
      description:
        "Whether a wallet may mint in a collection's presale, with its Merkle proof. Requires no key. Answers for one wallet at a time. Contract data can be two seconds old.",
      // It reads from a node. Even with the most aliases of a document it stays within the operation's limit.
      complexity: 50,
      args: {
        chain: t.arg(chainArg),
        collection: t.arg({ type: "Address", required: true, description: "The address of the collection." }),
        wallet: t.arg({
          type: "Address",
          required: true,
          description: "The address of the wallet that wants to mint.",
        }),
        root: t.arg({
          type: "Hex",
          description: "The Merkle root of an earlier list to search. If omitted, the list in force.",
        }),
      },
      resolve: async (_root, args, context) =>
        await getEligibility(context.services, present(args), await askerOf(context)),
    }),
  );
}
