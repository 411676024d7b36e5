import type { Address, Hex } from "viem";
import { type Eligibility, getEligibility, type Ineligibility } from "../collections/eligibility.ts";
import { askerOf } from "./asker.ts";
import type { Builder } from "./builder.ts";

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
      resolve: async (_root, { chain, collection, wallet, root }, context) =>
        await getEligibility(
          context.services,
          {
            chain,
            collection: collection as Address,
            wallet: wallet as Address,
            root: (root ?? undefined) as Hex | undefined,
          },
          await askerOf(context),
        ),
    }),
  );
}
