import { readFreshness } from "../accounts/freshness.ts";
import { type Chain, findChain } from "../chains.ts";
import { listNewestOfEach } from "../nfts/list-nfts.ts";
import { single } from "../nfts/read-for-each.ts";
import { type Builder, oncePerBuilder } from "./builder.ts";
import { connectionCost, pageArgs, pageRequestOf, shownParts } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

interface NamedChain {
  /** As the request spelled it. */
  name: string;
  chain: Chain;
}

/** A chain of this installation. */
export const chainType = oncePerBuilder((builder) => builder.objectRef<NamedChain>("Chain"));

interface Head {
  block: bigint;
  hash: string | null;
  timestamp: Date;
  lagSeconds: number;
}

/** The chains of this installation, and what is read of a whole chain. */
export function addChains(builder: Builder): void {
  const { connection } = nftTypes(builder);
  const head = builder.objectRef<Head>("ChainHead").implement({
    description: "The last block that the index has taken in.",
    fields: (t) => ({
      block: t.expose("block", { type: "Uint256" }),
      hash: t.expose("hash", { type: "Hex", nullable: true, description: "Null where the journal does not have it." }),
      timestamp: t.expose("timestamp", { type: "DateTime", description: "The block's own time." }),
      lagSeconds: t.exposeInt("lagSeconds", { description: "Seconds since then." }),
    }),
  });
  const type = chainType(builder).implement({
    description: "A chain of this installation.",
    fields: (t) => ({
      name: t.expose("name", { type: "ChainName" }),
      chainId: t.int({ description: "EIP-155.", resolve: ({ chain }) => chain.id }),
      head: t.field({
        type: head,
        nullable: true,
        description: "Null before the first block was indexed. It may be half a second old.",
        resolve: async ({ chain }, _args, { services }) => {
          const known = (await readFreshness(services))[chain.name];
          return known ? { ...known, block: BigInt(known.block), timestamp: new Date(known.timestamp) } : null;
        },
      }),
      latestNfts: t.field({
        type: connection,
        nullable: true,
        description: "Live tokens of the chain, newest mint first (the last 90 days, unless the plan is enterprise).",
        args: pageArgs(builder),
        complexity: connectionCost,
        resolve: async ({ name }, args, context, info) => {
          const request = {
            chain: name,
            page: pageRequestOf(args),
            parts: shownParts(info),
          };
          const { services, caller } = context;
          return { ...single(await listNewestOfEach(services, await caller(), request, [undefined])), total: null };
        },
      }),
    }),
  });
  builder.queryField("chain", (t) =>
    t.field({
      type,
      nullable: true,
      args: { name: t.arg({ type: "ChainName", required: true }) },
      resolve: async (_root, { name }, { services, caller }) => {
        await caller();
        return { name, chain: findChain(services.chains, name) };
      },
    }),
  );
  builder.queryField("chains", (t) =>
    t.field({
      type: [type],
      description: "The chains of this installation.",
      complexity: { field: 1, multiplier: 5 },
      resolve: async (_root, _args, { services, caller }) => {
        await caller();
        return services.chains.map((chain) => ({ name: chain.name, chain }));
      },
    }),
  );
}
