import type { ObjectFieldBuilder } from "@pothos/core";
import { ServiceError } from "../errors/errors.ts";
import { type AnyField, contractFields, tokenFields } from "../nfts/fields.ts";
import { getContracts } from "../nfts/get-contracts.ts";
import { getNfts } from "../nfts/get-nfts.ts";
import type { ContractRecord, Nft } from "../nfts/nft-record.ts";
import type { Page } from "../nfts/page.ts";
import { standards } from "../products/create-contract.ts";
import { rawText } from "./answer-text.ts";
import { type Builder, type GraphQLContext, oncePerBuilder, type Types } from "./builder.ts";
import { connectionOf } from "./connection.ts";
import { enumValues } from "./inputs.ts";
import { loadTogether } from "./load-together.ts";

export const standardWords = enumValues(standards);

/** A page of tokens; `total` is null where counting would cost more than the page. */
export interface NftPage extends Page<Nft> {
  total: bigint | null;
}

/** The types of token reads, with a token's or contract's own fields. Lists are added by the files that read them. */
export const nftTypes = oncePerBuilder(makeNftTypes);

function makeNftTypes(builder: Builder) {
  const standard = builder.enumType("TokenStandard", {
    description: "The token standard of a contract.",
    values: standardWords,
  });
  const contract = builder.node(builder.objectRef<ContractRecord>("Contract"), {
    description: "An NFT contract: its own name, symbol and metadata, and its data on the chain.",
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
    fields: (t) => tableFields(t, contractFields, { TokenStandard: standard }),
  });
  const fileInformation = builder.objectRef<NonNullable<Nft["fileInformation"]>>("FileInformation").implement({
    description: "The size of a token's image.",
    fields: (t) => ({
      width: t.exposeInt("width", { description: "The width in pixels." }),
      height: t.exposeInt("height", { description: "The height in pixels." }),
      sizeBytes: t.exposeInt("sizeBytes", { description: "The size of the file in bytes." }),
    }),
  });
  const metadataStatus = builder.enumType("MetadataStatus", {
    description: "Whether the metadata of a token has been read.",
    values: {
      PENDING: { description: "The metadata waits to be read, for the first time or again." },
      FRESH: { description: "The metadata was read, and is not known to have changed since." },
      FAILED: {
        description:
          "The metadata could not be read; see `metadataError`. It is retried a few times at growing intervals, and after that when a client requests it.",
      },
    },
  });
  const nft = builder.node(builder.objectRef<Nft>("Nft"), {
    description: "One token of a contract. Its texts come from the metadata and are null until that has been read.",
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
      ...tableFields(t, tokenFields, {
        ...{ TokenStandard: standard, FileInformation: fileInformation, MetadataStatus: metadataStatus },
        "[String!]": ["String"],
      }),
      contract: t.field({
        type: contract,
        nullable: true,
        description: "The contract of the token. Null if the index does not list it.",
        resolve: async (token, _args, context) =>
          token.contractRecord ?? (await loadContract(context, token.chain, token.contractAddress)),
      }),
    }),
  });
  const total = {
    description: "The number of items in the whole list. Null if counting would cost more than the page itself.",
    of: (page: NftPage) => page.total,
  };
  const connection = connectionOf<Nft, NftPage>(builder, "Nft", nft, total, (edge) =>
    builder.objectField(edge, "amount", (t) =>
      t.field({
        type: "Uint256",
        nullable: true,
        description: "The number of units that the listed account owns. Null outside an account's list.",
        resolve: ({ node }) => node.amount,
      }),
    ),
  );
  return { standard, contract, nft, connection };
}

/** The GraphQL fields of a field table. @param refs the object types among their types. */
function tableFields<Parent extends object>(
  t: ObjectFieldBuilder<Types, Parent>,
  table: Record<string, AnyField>,
  refs: Record<string, unknown>,
) {
  const made = Object.entries(table).map(([name, { from, graphql }]) => {
    const { type, nullable = false, ...told } = graphql;
    const resolve = (parent: Parent) => {
      const value = (parent as Record<string, unknown>)[name];
      return from === "document" && typeof value === "string" ? rawText(value) : value;
    };
    return [name, t.field({ type: (refs[type] ?? type) as never, nullable, ...told, resolve: resolve as never })];
  });
  return Object.fromEntries(made) as Record<string, ReturnType<typeof t.field>>;
}

/** The contract at an address, batched with other contracts at this level; null if the index does not know it. */
export async function loadContract(context: GraphQLContext, chain: string, address: string) {
  return await loadTogether(context, ["contract", chain], { chain, address }, address, async (keys) =>
    getContracts(context.services, await context.caller(), keys, "listed"),
  );
}

/** The token of a key, batched with other tokens at this level; null if the index does not know it. */
export async function loadNft(context: GraphQLContext, key: { chain: string; contract: string; tokenId: bigint }) {
  return await loadTogether(context, ["nft", key.chain], key, `${key.contract}:${key.tokenId}`, async (keys) =>
    getNfts(context.services, await context.caller(), keys, { metadata: true, contract: true }),
  );
}

/** @throws ServiceError `value_error` for a node id whose address part is malformed. */
export function checkedAddress(text: string): string {
  if (/^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase();
  throw noNode();
}

function noNode(): ServiceError {
  return new ServiceError("value_error", "this id is of no node", { field: "id" });
}
