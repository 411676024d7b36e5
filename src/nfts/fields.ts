import type { Standard } from "../db/tables/nft.ts";

/*
 * Every member of a token and of a contract, declared once: the source of its value, its GraphQL type, and how both
 * APIs write it. Statements (item-sql.ts), rendered metadata (rendered.ts), records, GraphQL types, the shapes of /v0
 * and their OpenAPI schemas are made from these tables.
 */

/** Values known before the statement runs. Texts are UTF-8 bytes as latin1, one character per byte. */
export interface Facts {
  /** The chain's name as spelled in the request, as JSON. */
  chain: string;
  /** The base URL of our own copies, with a trailing slash, as the inside of a JSON string. */
  cachedBase: string;
  /** The base URL of previews of our own copies, likewise. */
  thumbnailBase: string;
  /** The base URL of previews of external pictures, up to the contract's hex digits; empty if none are made. */
  linkedThumbnailBase: string;
}

/**
 * The source of a value. `request`: known before the statement runs; `key`: in every item; `live`: the index, or a
 * column of the metadata row that is not rendered; `document`: the document itself; `stored`: the rendered text.
 */
type Origin = "request" | "key" | "live" | "document" | "stored";

export interface Field<V> {
  from: Origin;
  /** For a stored value: its JSON text, as an SQL expression over the metadata row. `whole`: of any length. */
  sql?: (row: string, whole: boolean) => string;
  /** For a text that lists leave out if it is too long: the SQL condition for that. */
  tooLong?: (row: string) => string;
  /** The value as JSON, from the item's part. @param of gives the part of another field. */
  json: (part: string, facts: Facts, of: (name: "contractAddress" | "tokenId") => string) => string;
  /**
   * The text before and after a part that is not empty, if `json` adds nothing else, and how many of the part's last
   * characters it cuts. An empty part becomes `null`.
   */
  around?: readonly [before: string, after: string, cut?: number] | undefined;
  /** The part is our copy's path as a JSON string, or any other text if there is no copy; `json` makes it a URL. */
  copy?: true;
  /** For a stored value without a part of its own: the field whose part it is made from. */
  partOf?: string;
  /** The value itself, from the part as text; if absent, the value of `json`. */
  value?: (part: string, facts: Facts) => V;
  graphql: { type: GraphQLType; nullable?: boolean; description?: string; deprecationReason?: string };
  /** Its name in /v0, and the group of members that it is shown with; without it, /v0 does not show it. */
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

/** A longer document is shown only in its token's details, so that a page stays within a few megabytes. */
export const listedDocumentBytes = 65_536;
/** The same limit for each other text of a token or a contract; it may be a `data:` URI as long as a document. */
const listedTextBytes = 16_384;

/** A to_char format: UTC without a zone, in microseconds. */
const naive = 'YYYY-MM-DD"T"HH24:MI:SS.US';

/** @param seconds Unix time. @returns JavaScript's ISO format: `2026-01-01T00:00:00.000Z`. */
export function toIso(seconds: string): string {
  return new Date(Number(seconds) * 1000).toISOString();
}

/** `toIso` without milliseconds and zone, as /v0 writes times. */
export function toNaiveSeconds(seconds: string): string {
  return toIso(seconds).slice(0, 19);
}

/** A field whose part becomes JSON by adding a prefix and a suffix. */
function surrounded(before: string, after: string, cut = 0) {
  const json = (text: string) => (text === "" ? "null" : `${before}${cut ? text.slice(0, -cut) : text}${after}`);
  return { json, around: [before, after, cut] as const };
}
const jsonOr = surrounded("", "");
const quoted = surrounded('"', '"');
const address = surrounded('"0x', '"');

/** Third-party text. Lists leave it out if it is too long: its part is empty then. */
function text(column: string, description: string): Field<string | null> {
  const json = (row: string) => `coalesce(to_json(${row}.${column})::text, 'null')`;
  const tooLong = (row: string) => `octet_length(${row}.${column}) > ${listedTextBytes}`;
  return {
    ...{ from: "stored", ...jsonOr, graphql: { type: "String", nullable: true, description } },
    tooLong,
    sql: (row, whole) => (whole ? json(row) : `CASE WHEN ${tooLong(row)} THEN '' ELSE ${json(row)} END`),
  };
}

/** An integer column. */
function count(column: string, description: string): Field<number | null> {
  return {
    ...{ from: "stored", ...jsonOr, sql: (row) => `coalesce(${row}.${column}::text, '')` },
    graphql: { type: "Int", nullable: true, description },
  };
}

/** The field with its name in /v0. */
function inV0<V>(name: string, group: V0Group, field: Field<V>): Field<V> {
  return { ...field, v0: { name, group } };
}

/** Text of our own, which is always short. */
function shortText(column: string, description: string): Field<string | null> {
  const { tooLong: _, ...field } = text(column, description);
  return { ...field, sql: (row) => `coalesce(to_json(${row}.${column})::text, 'null')` };
}

/** The URL of our own copy. Its path is stored. */
function copyUrl(column: string, description: string): Field<string | null> {
  const json = (part: string, facts: Facts) => (part.startsWith('"') ? `"${facts.cachedBase}${part.slice(1)}` : "null");
  return { ...shortText(column, description), json, around: undefined, copy: true };
}

/** Replaces our copy's path if there is no copy, but previews are made of the picture that the metadata links to. */
export const linkedMark = "link";
/** The schemes of links that previews are made of. Nothing else is compared: a link may be a megabyte of data. */
const linkStart = "^(ipfs|https?|ar|data):";

/** The path of our own copy of the picture, or whether previews are made of the one that the metadata links to. */
function pictureSql(row: string): string {
  const linked = `CASE WHEN left(${row}.image, 6) ~* '${linkStart}' THEN '${linkedMark}' ELSE 'null' END`;
  return `coalesce(to_json(${row}.cached_image)::text, ${linked})`;
}

const chain: Field<string> = {
  from: "request",
  json: (_, facts) => facts.chain,
  graphql: { type: "ChainName", description: "The name of the chain, as spelled in the request." },
};
const keyAddress: Field<string> = {
  ...{ from: "key", ...address, graphql: { type: "Address", description: "The address of the contract." } },
};
const standard: Field<Standard> = {
  ...{ from: "key", ...quoted },
  graphql: { type: "TokenStandard", description: "The token standard of the contract: ERC-721 or ERC-1155." },
};
const liveAddress = (description: string): Field<string | null> => ({
  ...{ from: "live", ...address, graphql: { type: "Address", nullable: true, description } },
});

/** `PENDING` also if the worker has not seen the token yet. */
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
    ...{
      from: "key",
      ...quoted,
      value: BigInt,
      graphql: { type: "TokenId", description: "The id of the token in its contract." },
    },
  }),
  standard,
  owner: inV0(
    "owner",
    "owner",
    liveAddress("The owner of an ERC-721 token. Null for ERC-1155 and for a burned token."),
  ),
  supply: {
    ...{
      from: "live",
      ...quoted,
      value: BigInt,
      graphql: {
        type: "Uint256",
        description: "The number of existing units of the token; 0 or 1 for ERC-721, 0 if it is burned.",
      },
    },
  } as Field<bigint>,
  amount: {
    ...{ from: "live", ...quoted, value: (part) => (part === "" ? null : BigInt(part)) },
    graphql: {
      type: "Uint256",
      nullable: true,
      description: "The number of units that the listed account owns. Null outside an account's list.",
      deprecationReason:
        "It depends on the account, and a client's cache keeps one value per token: read `amount` of the edge.",
    },
  } as Field<bigint | null>,
  creator: inV0(
    "creator_address",
    "creator",
    liveAddress(
      "The sender of the transaction that minted the token. In a contract that this service deployed to mint in, the owner it was deployed for. Null if the mint is not indexed.",
    ),
  ),
  mintedAt: {
    ...{ from: "live", json: (part) => (part === "" ? "null" : `"${toIso(part)}"`) },
    value: (part) => (part === "" ? null : new Date(Number(part) * 1000)),
    graphql: {
      type: "DateTime",
      nullable: true,
      description: "The timestamp of the block with the token's first mint. Null if that mint is not indexed.",
    },
  } as Field<Date | null>,
  name: inV0("name", "texts", text("name", "The token's name in its metadata. Null if it has none.")),
  description: inV0(
    "description",
    "texts",
    text("description", "The token's description in its metadata. Null if it has none."),
  ),
  metadataUrl: inV0(
    "metadata_url",
    "document",
    text("token_uri", "The metadata URI as returned by the contract (`tokenURI` or `uri`), such as ipfs://…/1."),
  ),
  metadata: inV0<string | null>("metadata", "document", {
    ...{ from: "document", ...jsonOr, value: (part) => (part === "" ? null : part) },
    graphql: {
      type: "JSON",
      nullable: true,
      description:
        "The JSON object at `metadataUrl`, with every number as it was written. Null until it has been read, and in lists if it is over 64 KB.",
    },
  }),
  fileUrl: inV0("file_url", "files", text("image", "The URI of the image in the metadata: ipfs:, https: or data:.")),
  animationUrl: inV0(
    "animation_url",
    "files",
    text("animation_url", "The URI of a video, a 3D model or a page in the metadata (`animation_url`)."),
  ),
  cachedFileUrl: inV0("cached_file_url", "files", {
    ...copyUrl("cached_image", "The URL of this service's own copy of the image. Null if it has none."),
    sql: pictureSql,
  }),
  cachedAnimationUrl: inV0(
    "cached_animation_url",
    "files",
    copyUrl("cached_animation", "The URL of this service's own copy of `animationUrl`. Null if it has none."),
  ),
  thumbnailUrl: {
    from: "stored",
    json: (part, { thumbnailBase, linkedThumbnailBase }, of) => {
      if (part.startsWith('"')) return `"${thumbnailBase}${part.slice(1)}`;
      if (part !== linkedMark || linkedThumbnailBase === "") return "null";
      return `"${linkedThumbnailBase}${of("contractAddress")}/${of("tokenId")}"`;
    },
    partOf: "cachedFileUrl",
    graphql: {
      type: "String",
      nullable: true,
      description:
        "The URL of a preview of the image: WebP, at most 512 pixels wide. It is made from `cachedFileUrl` if this service has a copy, otherwise from an ipfs:, https:, http:, ar: or data: `fileUrl`; null if there is neither. The URL answers 404 or 422 if no preview can be made, such as of a video; then show the file itself.",
    },
  } as Field<string | null>,
  fileInformation: {
    ...{ from: "stored", ...jsonOr },
    sql: (row) => `coalesce(${row}.file_width || ',' || ${row}.file_height || ',' || ${row}.file_size, '')`,
    value: (part) => {
      const [width = 0, height = 0, sizeBytes = 0] = part.split(",").map(Number);
      return part === "" ? null : { width, height, sizeBytes };
    },
    graphql: {
      type: "FileInformation",
      nullable: true,
      description: "The size of the image. Null if it is not known.",
    },
  } as Field<FileInformation | null>,
  metadataStatus: inV0<MetadataStatus>("metadata_status", "reading", {
    ...{ from: "live", json: (part) => `"${part === "" ? "PENDING" : part.toUpperCase()}"` },
    graphql: { type: "MetadataStatus", description: "Whether the metadata has been read." },
  }),
  metadataError: inV0<string | null>("metadata_error", "reading", {
    ...{ from: "live", ...quoted },
    graphql: {
      type: "String",
      nullable: true,
      description:
        "A code for why the last attempt to read the metadata failed, such as http_404; metadata of an earlier attempt is still returned. Null unless it failed.",
    },
  }),
  metadataWarnings: inV0<string[]>("metadata_warnings", "reading", {
    ...{ from: "live", json: (part) => part || "[]" },
    graphql: {
      type: "[String!]",
      description:
        "Which parts of the returned metadata could not be read, as MEMBER:REASON: `attributes:not_a_list`, `image:http_404`.",
    },
  }),
  metadataUpdatedAt: {
    from: "stored",
    sql: (row) => `coalesce(to_char(${row}.fetched_at AT TIME ZONE 'UTC', '${naive}'), '')`,
    // Stored in microseconds, shown in milliseconds.
    ...surrounded('"', 'Z"', 3),
    value: (part) => (part === "" ? null : new Date(`${part.slice(0, -3)}Z`)),
    graphql: {
      type: "DateTime",
      nullable: true,
      description: "When the returned metadata was read. Null until it has been read.",
    },
  } as Field<Date | null>,
};

export const contractFields = {
  chain,
  address: keyAddress,
  name: inV0("name", "record", text("name", "The name that the contract returns. Null if it has none.")),
  symbol: inV0("symbol", "record", text("symbol", "The symbol that the contract returns. Null if it has none.")),
  standard: inV0("type", "record", standard),
  description: inV0(
    "description",
    "recordMetadata",
    text("description", "The description in the contract-level metadata (`contractURI`, ERC-7572)."),
  ),
  thumbnailUrl: inV0(
    "thumbnail_url",
    "recordMetadata",
    text("thumbnail_url", "The URL of the image in the contract-level metadata."),
  ),
  cachedThumbnailUrl: inV0(
    "cached_thumbnail_url",
    "recordMetadata",
    shortText("cached_thumbnail_url", "The URL of this service's own copy of the thumbnail. Null if it has none."),
  ),
  bannerUrl: inV0(
    "banner_url",
    "recordMetadata",
    text("banner_url", "The URL of the banner in the contract-level metadata."),
  ),
  cachedBannerUrl: inV0(
    "cached_banner_url",
    "recordMetadata",
    shortText("cached_banner_url", "The URL of this service's own copy of the banner. Null if it has none."),
  ),
  royaltyBps: inV0(
    "royalty_bps",
    "recordMetadata",
    count(
      "royalty_bps",
      "The royalty on a sale in basis points (ERC-2981): 500 is 5 %. Null if the contract has none.",
    ),
  ),
};

export type TokenField = keyof typeof tokenFields;
export type ContractField = keyof typeof contractFields;
/** A field of either table, whatever its value is. */
// biome-ignore lint/suspicious/noExplicitAny: what it is, is known where it is read by its name.
export type AnyField = Field<any>;
/** The values of a table's fields by name. */
export type ValuesOf<T extends Record<string, AnyField>> = {
  [K in keyof T]: T[K] extends Field<infer V> ? V : never;
};

/** The fields of a group of /v0 by their names in the table, in its order. */
export function v0Fields(table: Record<string, AnyField>, group: V0Group): [name: string, field: AnyField][] {
  return Object.entries(table).filter(([, { v0 }]) => v0?.group === group);
}

/** The names of a table's stored fields, in the order of the parts of a rendered text. */
export function storedNames(table: Record<string, AnyField>): string[] {
  return Object.keys(table).filter((name) => table[name]?.from === "stored" && !table[name].partOf);
}
