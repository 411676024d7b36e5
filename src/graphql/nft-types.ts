import { ServiceError } from "../errors/errors.ts";
import { getContracts } from "../nfts/get-contracts.ts";
import { getNfts } from "../nfts/get-nfts.ts";
import type { ContractRecord, Nft } from "../nfts/nft-record.ts";
import type { Page } from "../nfts/page.ts";
import { type Builder, type GraphQLContext, oncePerBuilder } from "./builder.ts";
import { loadTogether } from "./load-together.ts";
import { connectionOf } from "./page-types.ts";
import { rawText } from "./raw-text.ts";

/** A page of tokens; `total` is null where counting would cost more than the page. */
export interface NftPage extends Page<Nft> {
  total: bigint | null;
}

/** The types of token reads: what is of the token or contract itself. Their lists are added by the files of what they list. */
export const nftTypes = oncePerBuilder(makeNftTypes);

function makeNftTypes(builder: Builder) {
  const standard = builder.enumType("TokenStandard", { values: ["ERC721", "ERC1155"] as const });
  const contract = builder.node(builder.objectRef<ContractRecord>("Contract"), {
    description: "A contract with NFTs, as the chain and the contract itself tell.",
    id: { resolve: (record) => `${record.chain}:${record.address}` },
    loadMany: async (ids: string[], { services, caller }) =>
      await getContracts(
        services,
        await caller(),
        ids.map((id) => {
          const [chain = "", address = ""] = id.split(":");
          return { chain, address: checkedAddress(address) };
        }),
        "listed",
      ),
    fields: (t) => ({
      chain: t.expose("chain", { type: "ChainName" }),
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
      FAILED: {
        description:
          "Could not be read, see `metadataError`; it is tried again some times, less and less often, and then when somebody asks for it.",
      },
    },
  });
  const nft = builder.node(builder.objectRef<Nft>("Nft"), {
    description: "One token. Texts come from its metadata and are null until that was read.",
    id: { resolve: (token) => `${token.chain}:${token.contractAddress}:${token.tokenId}` },
    loadMany: async (ids: string[], { services, caller }) =>
      await getNfts(
        services,
        await caller(),
        ids.map((id) => {
          const [chain = "", contract = "", tokenId = ""] = id.split(":");
          if (!/^\d{1,78}$/.test(tokenId) || BigInt(tokenId) >= 2n ** 256n) throw noNode();
          return { chain, contract: checkedAddress(contract), tokenId: BigInt(tokenId) };
        }),
        { metadata: true, contract: true },
      ),
    fields: (t) => ({
      chain: t.expose("chain", { type: "ChainName" }),
      contractAddress: t.field({ type: "Address", resolve: (token) => token.contractAddress }),
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
        deprecationReason:
          "It depends on the account, and a client's cache keeps one value per token: read `amount` of the edge.",
      }),
      creator: t.expose("creator", {
        type: "Address",
        nullable: true,
        description: "Sender of the transaction that minted it.",
      }),
      mintedAt: t.field({
        type: "DateTime",
        nullable: true,
        resolve: (token) => token.mintedAt,
      }),
      name: t.exposeString("name", { nullable: true }),
      description: t.exposeString("description", { nullable: true }),
      metadataUrl: t.exposeString("metadataUrl", { nullable: true, description: "As the contract returns it." }),
      metadata: t.field({
        type: "JSON",
        nullable: true,
        description: "The JSON object behind metadataUrl; every number as it was written.",
        resolve: (token) => (token.metadata === null ? null : rawText(token.metadata)),
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
        resolve: (token) => token.metadataStatus,
      }),
      metadataError: t.exposeString("metadataError", {
        nullable: true,
        description: "Code of why the last try failed; the metadata of an earlier one is still shown.",
      }),
      metadataUpdatedAt: t.field({
        type: "DateTime",
        nullable: true,
        description: "Last fetch of the metadata.",
        resolve: (token) => token.metadataUpdatedAt,
      }),
      contract: t.field({
        type: contract,
        nullable: true,
        resolve: async (token, _args, context) =>
          token.contractRecord ?? (await loadContract(context, token.chain, token.contractAddress)),
      }),
    }),
  });
  const total = {
    description: "All items of the list; null where counting them would cost more than the page.",
    of: (page: NftPage) => page.total,
  };
  const connection = connectionOf<Nft, NftPage>(builder, "Nft", nft, total, (edge) =>
    builder.objectField(edge, "amount", (t) =>
      t.field({
        type: "Uint256",
        nullable: true,
        description: "How many the account of this list holds; null outside of an account's list.",
        resolve: ({ node }) => node.amount,
      }),
    ),
  );
  return { standard, contract, nft, connection };
}

/** A contract beside another object, with those beside the objects of the same level; null: the index does not know it. */
export async function loadContract(context: GraphQLContext, chain: string, address: string) {
  return await loadTogether(context, ["contract", chain], { chain, address }, address, async (keys) =>
    getContracts(context.services, await context.caller(), keys, "listed"),
  );
}

/** The same of a token. */
export async function loadNft(context: GraphQLContext, key: { chain: string; contract: string; tokenId: bigint }) {
  return await loadTogether(context, ["nft", key.chain], key, `${key.contract}:${key.tokenId}`, async (keys) =>
    getNfts(context.services, await context.caller(), keys, { metadata: true, contract: true }),
  );
}

/** @throws ServiceError `value_error` for an id with something else in it. */
export function checkedAddress(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase();
  throw noNode();
}

function noNode(): ServiceError {
  return new ServiceError("value_error", "this id is of no node", { field: "id" });
}
