import type { ContractRecord, Nft } from "../nfts/nft-record.ts";
import type { Page } from "../nfts/page.ts";
import type { Builder } from "./builder.ts";
import { pageInfoOf } from "./connection.ts";

/** A page of tokens; `total` is null where counting would cost more than the page. */
export interface NftPage extends Page<Nft> {
  total: bigint | null;
}

export type NftTypes = ReturnType<typeof makeNftTypes>;

const made = new WeakMap<Builder, NftTypes>();

/** The types of token reads, made once per builder: several files of this folder show them. */
export function nftTypes(builder: Builder): NftTypes {
  const known = made.get(builder);
  if (known) return known;
  const types = makeNftTypes(builder);
  made.set(builder, types);
  return types;
}

function makeNftTypes(builder: Builder) {
  const standard = builder.enumType("TokenStandard", { values: ["ERC721", "ERC1155"] as const });
  const contract = builder.objectRef<ContractRecord>("Contract").implement({
    description: "A contract with NFTs, as the chain and the contract itself tell.",
    fields: (t) => ({
      chain: t.exposeString("chain"),
      address: t.expose("address", { type: "Address" }),
      standard: t.expose("standard", { type: standard }),
      name: t.exposeString("name", { nullable: true }),
      symbol: t.exposeString("symbol", { nullable: true }),
      description: t.exposeString("description", { nullable: true }),
      thumbnailUrl: t.exposeString("thumbnailUrl", { nullable: true }),
      cachedThumbnailUrl: t.exposeString("cachedThumbnailUrl", { nullable: true }),
      bannerUrl: t.exposeString("bannerUrl", { nullable: true }),
      cachedBannerUrl: t.exposeString("cachedBannerUrl", { nullable: true }),
    }),
  });
  const fileInformation = builder.objectRef<NonNullable<Nft["fileInformation"]>>("FileInformation").implement({
    fields: (t) => ({
      width: t.exposeInt("width"),
      height: t.exposeInt("height"),
      sizeBytes: t.exposeInt("sizeBytes"),
    }),
  });
  const metadataStatus = builder.enumType("MetadataStatus", {
    values: {
      PENDING: { description: "Will be read, for the first time or again." },
      FRESH: {},
      FAILED: { description: "Could not be read, see `metadataError`; it is tried again, less and less often." },
    },
  });
  const nft = builder.objectRef<Nft>("Nft").implement({
    description: "One token. Texts come from its metadata and are null until that was read.",
    fields: (t) => ({
      id: t.id({
        description: "The same token always has the same id.",
        resolve: (token) => Buffer.from(`Nft:${token.chain}:${token.contract}:${token.tokenId}`).toString("base64url"),
      }),
      chain: t.exposeString("chain"),
      contractAddress: t.field({ type: "Address", resolve: (token) => token.contract }),
      tokenId: t.expose("tokenId", { type: "TokenId" }),
      standard: t.expose("standard", { type: standard }),
      owner: t.expose("owner", {
        type: "Address",
        nullable: true,
        description: "Holder of a live ERC-721 token; null for ERC-1155 and for a burned token.",
      }),
      supply: t.expose("supply", { type: "Uint256", description: "0: burned." }),
      amount: t.expose("amount", {
        type: "Uint256",
        nullable: true,
        description: "How many the account of this list holds; null outside of an account's list.",
      }),
      creator: t.expose("creator", {
        type: "Address",
        nullable: true,
        description: "Sender of the transaction that minted it.",
      }),
      mintedAt: t.field({
        type: "DateTime",
        nullable: true,
        resolve: (token) => (token.mintedAt === null ? null : new Date(Number(token.mintedAt) * 1000)),
      }),
      name: t.exposeString("name", { nullable: true }),
      description: t.exposeString("description", { nullable: true }),
      metadataUrl: t.exposeString("metadataUrl", { nullable: true, description: "As the contract returns it." }),
      metadata: t.field({
        type: "JSON",
        nullable: true,
        description: "The JSON object behind metadataUrl; every number as it was written.",
        resolve: (token) => (token.metadata === null ? null : parseKeepingNumbers(token.metadata)),
      }),
      fileUrl: t.exposeString("fileUrl", { nullable: true }),
      animationUrl: t.exposeString("animationUrl", { nullable: true }),
      cachedFileUrl: t.exposeString("cachedFileUrl", {
        nullable: true,
        description: "This service's own copy; null when it holds none.",
      }),
      cachedAnimationUrl: t.exposeString("cachedAnimationUrl", { nullable: true }),
      fileInformation: t.expose("fileInformation", { type: fileInformation, nullable: true }),
      metadataStatus: t.field({
        type: metadataStatus,
        resolve: (token) => token.metadataStatus.toUpperCase() as Uppercase<Nft["metadataStatus"]>,
      }),
      metadataError: t.exposeString("metadataError", {
        nullable: true,
        description: "Code of why the last try failed; the metadata of an earlier one is still shown.",
      }),
      metadataUpdatedAt: t.field({
        type: "DateTime",
        nullable: true,
        description: "Last fetch of the metadata.",
        resolve: (token) => (token.updatedAtMicros === null ? null : new Date(Number(token.updatedAtMicros / 1000n))),
      }),
      contract: t.expose("contractRecord", { type: contract, nullable: true }),
    }),
  });
  const edge = builder.objectRef<{ node: Nft; cursor: string }>("NftEdge").implement({
    fields: (t) => ({ cursor: t.exposeString("cursor"), node: t.expose("node", { type: nft }) }),
  });
  const connection = builder.objectRef<NftPage>("NftConnection").implement({
    fields: (t) => ({
      // The page size is in the connection's own cost.
      edges: t.expose("items", { type: [edge], complexity: { multiplier: 1 } }),
      nodes: t.field({
        type: [nft],
        complexity: { multiplier: 1 },
        resolve: (page) => page.items.map((item) => item.node),
      }),
      pageInfo: t.field({ type: builder.pageInfoRef(), resolve: pageInfoOf }),
      totalCount: t.int({
        nullable: true,
        description: "All items of the list; null for a whole chain, where counting would cost more than the page.",
        resolve: (page) => (page.total === null ? null : Number(page.total)),
      }),
    }),
  });
  return { standard, contract, nft, connection };
}

/** Numbers that JavaScript cannot hold go out as they came in. */
function parseKeepingNumbers(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    if (typeof value !== "number" || context?.source === undefined || String(value) === context.source) return value;
    return rawNumber(context.source);
  });
}

const rawNumber = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON;
