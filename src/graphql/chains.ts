import { readFreshness } from "../accounts/freshness.ts";
import { type Chain, findChain } from "../chains.ts";
import { listNewestOfEach } from "../nfts/list-nfts.ts";
import { single } from "../nfts/read-for-each.ts";
import { type Builder, chainArg, oncePerBuilder } from "./builder.ts";
import { connectionCost, pageArgs, pageRequestOf, shownParts } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

interface NamedChain {
  /** As spelled in the request. */
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

/** The chains of this installation, and reads over a whole chain. */
export function addChains(builder: Builder): void {
  const { connection } = nftTypes(builder);
  const head = builder.objectRef<Head>("ChainHead").implement({
    description: "The last indexed block.",
    fields: (t) => ({
      block: t.expose("block", { type: "Uint256", description: "The number of the block." }),
      hash: t.expose("hash", {
        type: "Hex",
        nullable: true,
        description: "The hash of the block. Null if the indexer's journal does not have it.",
      }),
      timestamp: t.expose("timestamp", { type: "DateTime", description: "The timestamp of the block." }),
      lagSeconds: t.exposeInt("lagSeconds", { description: "Seconds since the timestamp of the block." }),
    }),
  });
  const type = chainType(builder).implement({
    description: "A blockchain that this installation serves.",
    fields: (t) => ({
      name: t.expose("name", { type: "ChainName", description: "The name of the chain, as spelled in the request." }),
      chainId: t.int({
        description: "The chain id (EIP-155), such as 137 for Polygon.",
        resolve: ({ chain }) => chain.id,
      }),
      head: t.field({
        type: head,
        nullable: true,
        description: "The last indexed block, up to half a second old. Null before the first one.",
        resolve: async ({ chain }, _args, { services }) => {
          const known = (await readFreshness(services))[chain.name];
          return known ? { ...known, block: BigInt(known.block), timestamp: new Date(known.timestamp) } : null;
        },
      }),
      latestNfts: t.field({
        type: connection,
        nullable: true,
        description: "Tokens of the chain that are not burned, newest mint first, within the plan's `windowDays`.",
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
      description: "One chain of this installation, by name.",
      args: { name: t.arg(chainArg) },
      resolve: async (_root, { name }, { services, caller }) => {
        await caller();
        return { name, chain: findChain(services.chains, name) };
      },
    }),
  );
  builder.queryField("chains", (t) =>
    t.field({
      type: [type],
      description: "All chains of this installation.",
      complexity: { field: 1, multiplier: 5 },
      resolve: async (_root, _args, { services, caller }) => {
        await caller();
        return services.chains.map((chain) => ({ name: chain.name, chain }));
      },
    }),
  );
}
