import type { Standard } from "../db/tables/nft.ts";

/*
 * Every member of a token and of a contract, once: where its value comes from, what it is in GraphQL, and how both APIs
 * write it. Statements (item-sql.ts), the rendered texts of metadata (rendered.ts), records, GraphQL types, the shapes of
 * /v0 and their OpenAPI schemas are made from these tables.
 */

/** What is known of a value before the statement runs. Texts are in the bytes of UTF-8, one character for each. */
export interface Facts {
  /** The chain's name as the request spelled it, as JSON. */
  chain: string;
  /** The base of the URLs of our own copies, with a slash behind it, as the inside of a JSON string. */
  cachedBase: string;
}

/**
 * Where a value comes from: `request`: it is known before the statement runs; `key`: every item has it; `live`: the index, or
 * the row of the metadata beside its texts; `document`: the document itself; `stored`: the rendered text.
 */
type Origin = "request" | "key" | "live" | "document" | "stored";

export interface Field<V> {
  from: Origin;
  /** Of a stored value: its JSON text, an expression over the row of the metadata; `whole`: however long it is. */
  sql?: (row: string, whole: boolean) => string;
  /** Of a text that lists leave out where it is too long: the condition for that. */
  tooLong?: (row: string) => string;
  /** The value as JSON, from the item's part. */
  json: (part: string, facts: Facts) => string;
  /**
   * What `json` puts around a part that is not empty, where it does nothing else but to leave out so many of its last
   * characters; `null` stands for an empty one.
   */
  around?: readonly [before: string, after: string, cut?: number] | undefined;
  /** The part is the path of our own copy as a JSON string; `json` puts the base of our URLs in front of it. */
  copy?: true;
  /** The value itself, from the item's part in characters; absent: it is that of `json`. */
  value?: (part: string, facts: Facts) => V;
  graphql: { type: GraphQLType; nullable?: boolean; description?: string; deprecationReason?: string };
  /** Its name in /v0, and the group of members that comes and goes together there; without it, /v0 does not show it. */
  v0?: { name: string; group: V0Group };
}

/** Groups of /v0: `key` to `reading` of a token (token-shape.ts), `record` of a contract and `recordMetadata` inside it. */
export type V0Group =
  | "chain"
  | "key"
  | "texts"
  | "document"
  | "files"
  | "creator"
  | "owner"
  | "reading"
  | "record"
  | "recordMetadata";

export type GraphQLType =
  | "String"
  | "[String!]"
  | "Int"
  | "ChainName"
  | "Address"
  | "TokenId"
  | "Uint256"
  | "DateTime"
  | "JSON"
  | "TokenStandard"
  | "MetadataStatus"
  | "FileInformation";

/** A longer document is shown by the details of its token only: it bounds a page to some megabytes. */
export const listedDocumentBytes = 65_536;
/** The same for each other text of a token or a contract, which may be a `data:` URI as long as a document. */
const listedTextBytes = 16_384;

/** Format of to_char: UTC without a zone, to microseconds. */
const naive = 'YYYY-MM-DD"T"HH24:MI:SS.US';

/** @param seconds of Unix time. @returns as JavaScript writes a date: `2026-01-01T00:00:00.000Z`. */
export function toIso(seconds: string): string {
  return new Date(Number(seconds) * 1000).toISOString();
}

/** `toIso` without parts of a second and without a zone, as /v0 writes it. */
export function toNaiveSeconds(seconds: string): string {
  return toIso(seconds).slice(0, 19);
}

type Told = Omit<Field<unknown>["graphql"], "type" | "nullable">;
/** A part that is JSON but for what stands around it. */
function surrounded(before: string, after: string, cut = 0) {
  const json = (text: string) => (text === "" ? "null" : `${before}${cut ? text.slice(0, -cut) : text}${after}`);
  return { json, around: [before, after, cut] as const };
}
const jsonOr = surrounded("", "");
const quoted = surrounded('"', '"');
const address = surrounded('"0x', '"');

/** A text of a third party. Lists leave it out where it is too long: its part is empty then. */
function text(column: string, told: Told = {}): Field<string | null> {
  const json = (row: string) => `coalesce(to_json(${row}.${column})::text, 'null')`;
  const tooLong = (row: string) => `octet_length(${row}.${column}) > ${listedTextBytes}`;
  return {
    ...{ from: "stored", ...jsonOr, graphql: { type: "String", nullable: true, ...told } },
    tooLong,
    sql: (row, whole) => (whole ? json(row) : `CASE WHEN ${tooLong(row)} THEN '' ELSE ${json(row)} END`),
  };
}

/** A whole number of a column. */
function count(column: string, told: Told = {}): Field<number | null> {
  return {
    ...{ from: "stored", ...jsonOr, sql: (row) => `coalesce(${row}.${column}::text, '')` },
    graphql: { type: "Int", nullable: true, ...told },
  };
}

/** The field with its name in /v0. */
function inV0<V>(name: string, group: V0Group, field: Field<V>): Field<V> {
  return { ...field, v0: { name, group } };
}

/** A text of our own, which is short. */
function shortText(column: string, told: Told = {}): Field<string | null> {
  const { tooLong: _, ...field } = text(column, told);
  return { ...field, sql: (row) => `coalesce(to_json(${row}.${column})::text, 'null')` };
}

/** The URL of our own copy: what is stored is its path. */
function copyUrl(column: string, told: Told = {}): Field<string | null> {
  const json = (part: string, { cachedBase }: Facts) =>
    part === "null" || part === "" ? "null" : `"${cachedBase}${part.slice(1)}`;
  return { ...shortText(column, told), json, around: undefined, copy: true };
}

const chain: Field<string> = { from: "request", json: (_, facts) => facts.chain, graphql: { type: "ChainName" } };
const keyAddress: Field<string> = { from: "key", ...address, graphql: { type: "Address" } };
const standard: Field<Standard> = { from: "key", ...quoted, graphql: { type: "TokenStandard" } };
const liveAddress = (description: string): Field<string | null> => ({
  ...{ from: "live", ...address, graphql: { type: "Address", nullable: true, description } },
});

/** `PENDING` also before the worker has seen the token. */
export type MetadataStatus = "PENDING" | "FRESH" | "FAILED";

export interface FileInformation {
  width: number;
  height: number;
  sizeBytes: number;
}

export const tokenFields = {
  chain: inV0("chain", "chain", chain),
  contractAddress: inV0("contract_address", "key", keyAddress),
  tokenId: inV0<bigint>("token_id", "key", {
    ...{ from: "key", ...quoted, value: BigInt, graphql: { type: "TokenId" } },
  }),
  standard,
  owner: inV0(
    "owner",
    "owner",
    liveAddress("Holder of a live ERC-721 token; null for ERC-1155 and for a burned token."),
  ),
  supply: {
    ...{ from: "live", ...quoted, value: BigInt, graphql: { type: "Uint256", description: "0: burned." } },
  } as Field<bigint>,
  amount: {
    ...{ from: "live", ...quoted, value: (part) => (part === "" ? null : BigInt(part)) },
    graphql: {
      type: "Uint256",
      nullable: true,
      description: "How many the account of this list holds; null outside of an account's list.",
      deprecationReason:
        "It depends on the account, and a client's cache keeps one value per token: read `amount` of the edge.",
    },
  } as Field<bigint | null>,
  creator: inV0(
    "creator_address",
    "creator",
    liveAddress(
      "Sender of the transaction that minted it; in a contract that this service deployed to mint in, the owner it was deployed for.",
    ),
  ),
  mintedAt: {
    ...{ from: "live", json: (part) => (part === "" ? "null" : `"${toIso(part)}"`) },
    value: (part) => (part === "" ? null : new Date(Number(part) * 1000)),
    graphql: { type: "DateTime", nullable: true },
  } as Field<Date | null>,
  name: inV0("name", "texts", text("name")),
  description: inV0("description", "texts", text("description")),
  metadataUrl: inV0("metadata_url", "document", text("token_uri", { description: "As the contract returns it." })),
  metadata: inV0<string | null>("metadata", "document", {
    ...{ from: "document", ...jsonOr, value: (part) => (part === "" ? null : part) },
    graphql: {
      type: "JSON",
      nullable: true,
      description: "The JSON object behind metadataUrl; every number as it was written.",
    },
  }),
  fileUrl: inV0("file_url", "files", text("image")),
  animationUrl: inV0("animation_url", "files", text("animation_url")),
  cachedFileUrl: inV0(
    "cached_file_url",
    "files",
    copyUrl("cached_image", { description: "This service's own copy; null when it holds none." }),
  ),
  cachedAnimationUrl: inV0("cached_animation_url", "files", copyUrl("cached_animation")),
  fileInformation: {
    ...{ from: "stored", ...jsonOr },
    sql: (row) => `coalesce(${row}.file_width || ',' || ${row}.file_height || ',' || ${row}.file_size, '')`,
    value: (part) => {
      const [width = 0, height = 0, sizeBytes = 0] = part.split(",").map(Number);
      return part === "" ? null : { width, height, sizeBytes };
    },
    graphql: { type: "FileInformation", nullable: true },
  } as Field<FileInformation | null>,
  metadataStatus: inV0<MetadataStatus>("metadata_status", "reading", {
    ...{ from: "live", json: (part) => `"${part === "" ? "PENDING" : part.toUpperCase()}"` },
    graphql: { type: "MetadataStatus" },
  }),
  metadataError: inV0<string | null>("metadata_error", "reading", {
    ...{ from: "live", ...quoted },
    graphql: {
      type: "String",
      nullable: true,
      description: "Code of why the last try failed; the metadata of an earlier one is still shown.",
    },
  }),
  metadataWarnings: inV0<string[]>("metadata_warnings", "reading", {
    ...{ from: "live", json: (part) => part || "[]" },
    graphql: {
      type: "[String!]",
      description:
        "What could not be read of the metadata that is shown, as MEMBER:REASON: `attributes:not_a_list`, `image:http_404`.",
    },
  }),
  metadataUpdatedAt: {
    from: "stored",
    sql: (row) => `coalesce(to_char(${row}.fetched_at AT TIME ZONE 'UTC', '${naive}'), '')`,
    // Kept to microseconds, shown to milliseconds.
    ...surrounded('"', 'Z"', 3),
    value: (part) => (part === "" ? null : new Date(`${part.slice(0, -3)}Z`)),
    graphql: { type: "DateTime", nullable: true, description: "Last fetch of the metadata." },
  } as Field<Date | null>,
};

export const contractFields = {
  chain,
  address: keyAddress,
  name: inV0("name", "record", text("name")),
  symbol: inV0("symbol", "record", text("symbol")),
  standard: inV0("type", "record", standard),
  description: inV0("description", "recordMetadata", text("description")),
  thumbnailUrl: inV0("thumbnail_url", "recordMetadata", text("thumbnail_url")),
  cachedThumbnailUrl: inV0("cached_thumbnail_url", "recordMetadata", shortText("cached_thumbnail_url")),
  bannerUrl: inV0("banner_url", "recordMetadata", text("banner_url")),
  cachedBannerUrl: inV0("cached_banner_url", "recordMetadata", shortText("cached_banner_url")),
  royaltyBps: inV0(
    "royalty_bps",
    "recordMetadata",
    count("royalty_bps", { description: "Hundredths of a percent of a sale, by ERC-2981; null where it tells none." }),
  ),
};

export type TokenField = keyof typeof tokenFields;
export type ContractField = keyof typeof contractFields;
/** A field of either table, whatever its value is. */
// biome-ignore lint/suspicious/noExplicitAny: what it is, is known where it is read by its name.
export type AnyField = Field<any>;
/** The values of a table's fields, by name. */
export type ValuesOf<T extends Record<string, AnyField>> = {
  [K in keyof T]: T[K] extends Field<infer V> ? V : never;
};

/** The fields of a group of /v0, by their names in the table; in its order. */
export function v0Fields(table: Record<string, AnyField>, group: V0Group): [name: string, field: AnyField][] {
  return Object.entries(table).filter(([, { v0 }]) => v0?.group === group);
}

/** The names of a table's stored fields: the order of the parts of a rendered text. */
export function storedNames(table: Record<string, AnyField>): string[] {
  return Object.keys(table).filter((name) => table[name]?.from === "stored");
}
