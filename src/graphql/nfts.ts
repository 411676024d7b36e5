import { getNft } from "../nfts/get-nft.ts";
import { listChainNfts } from "../nfts/list-chain-nfts.ts";
import { listContractNfts } from "../nfts/list-contract-nfts.ts";
import { getMetadataProgress, type MetadataProgress } from "../nfts/metadata-progress.ts";
import { type RefreshStatus, refreshMessages, refreshMetadata } from "../nfts/refresh-metadata.ts";
import type { Builder } from "./builder.ts";
import { connectionCost, pageRequestOf, selects } from "./connection.ts";
import { nftTypes } from "./nft-types.ts";

/** Token reads, and the wish to read metadata again. */
export function addNfts(builder: Builder): void {
  const { nft, connection } = nftTypes(builder);

  builder.queryField("nft", (t) =>
    t.field({
      type: nft,
      nullable: true,
      description: "One token, also a burned one. `not_found` for a contract or token the index has never seen.",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId", required: true }),
      },
      resolve: async (_root, args, context) => getNft(context.services, await context.caller(), args),
    }),
  );

  builder.queryField("nfts", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description:
        "The live tokens of a contract by token id; without a contract those of the chain, newest mint first " +
        "(the last 90 days, unless the plan is enterprise).",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address" }),
        first: t.arg.int(),
        after: t.arg.string(),
        last: t.arg.int(),
        before: t.arg.string(),
      },
      complexity: connectionCost,
      resolve: async (_root, args, context, info) => {
        const caller = await context.caller();
        const { chain, contract } = args;
        const page = pageRequestOf(args);
        const parts = { metadata: selects(info, "metadata"), contract: selects(info, "contract") };
        return contract
          ? listContractNfts(context.services, caller, { chain, contract, page, parts })
          : { ...(await listChainNfts(context.services, caller, { chain, page, parts })), total: null };
      },
    }),
  );

  addMetadataProgress(builder);

  const status = builder.enumType("MetadataRefreshStatus", { values: Object.keys(refreshMessages) as RefreshStatus[] });
  const payload = builder.objectRef<{ status: RefreshStatus }>("RefreshMetadataPayload").implement({
    fields: (t) => ({
      status: t.expose("status", { type: status }),
      message: t.string({ resolve: (refresh) => refreshMessages[refresh.status] }),
    }),
  });
  builder.mutationField("refreshMetadata", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description: "Has the metadata of a token, or of all tokens of a contract, read again.",
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
        tokenId: t.arg({ type: "TokenId" }),
      },
      resolve: async (_root, { chain, contract, tokenId }, context) => ({
        status: await refreshMetadata(context.services, await context.caller(), {
          chain,
          contract,
          tokenId: tokenId ?? undefined,
        }),
      }),
    }),
  );
}

function addMetadataProgress(builder: Builder): void {
  const fault = builder.objectRef<MetadataProgress["faults"][number]>("MetadataFault").implement({
    fields: (t) => ({ code: t.exposeString("code"), count: t.exposeInt("count") }),
  });
  const progress = builder.objectRef<MetadataProgress>("MetadataProgress").implement({
    description: "How far the metadata of a contract's live tokens has been read.",
    fields: (t) => ({
      total: t.exposeInt("total"),
      fresh: t.exposeInt("fresh"),
      pending: t.exposeInt("pending", { description: "Counted up to 100,000." }),
      failed: t.exposeInt("failed", { description: "Counted up to 100,000." }),
      faults: t.field({
        type: [fault],
        complexity: { multiplier: 1 },
        description: "Why tokens failed, the most frequent reason first.",
        resolve: ({ faults }) => [...faults],
      }),
    }),
  });
  builder.queryField("metadataProgress", (t) =>
    t.field({
      type: progress,
      nullable: true,
      description: "`not_found` for a contract the index has never seen.",
      complexity: 10,
      args: {
        chain: t.arg.string({ required: true }),
        contract: t.arg({ type: "Address", required: true }),
      },
      resolve: async (_root, args, context) => getMetadataProgress(context.services, await context.caller(), args),
    }),
  );
}
