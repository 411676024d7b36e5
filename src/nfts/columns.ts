import { sql } from "kysely";

/** A document beyond this is shown by the details of its token only: it bounds a page to some megabytes. */
const listedDocumentBytes = 65_536;
/** The same for each other text of a token or a contract, which may be a `data:` URI as long as a document. */
const listedTextBytes = 16_384;

/** @param column with its alias. */
function capped(column: string, bytes: number) {
  return sql<string | null>`CASE WHEN octet_length(${sql.ref(column)}) <= ${sql.lit(bytes)}
    THEN ${sql.ref(column)} END`;
}

/** The document of a token as lists show it. */
export const listedMetadata = capped("m.metadata", listedDocumentBytes).as("metadata");

/**
 * What the details of a token select, from the aliases `t` (nft.tokens) and `m` (service.token_metadata).
 * The metadata text itself is selected only where it is shown: it is most of the page's bytes.
 */
export const tokenColumns = [
  "t.contract",
  "t.token_id",
  "t.standard",
  "t.owner",
  "t.supply",
  "t.creator",
  "t.mint_timestamp",
  "m.name",
  "m.description",
  "m.token_uri",
  "m.image",
  "m.animation_url",
  "m.cached_image",
  "m.cached_animation",
  "m.file_width",
  "m.file_height",
  "m.file_size",
  "m.status",
  "m.error_code",
] as const;

const cappedTexts = ["name", "description", "token_uri", "image", "animation_url"] as const;

/** The same for lists, without texts that would make a page boundless. */
export const listedTokenColumns = [
  ...(["t.contract", "t.token_id", "t.standard", "t.owner", "t.supply", "t.creator", "t.mint_timestamp"] as const),
  ...([
    "m.cached_image",
    "m.cached_animation",
    "m.file_width",
    "m.file_height",
    "m.file_size",
    "m.status",
    "m.error_code",
  ] as const),
  ...cappedTexts.map((column) => capped(`m.${column}`, listedTextBytes).as(column)),
] as const;

/** Holders shown with a token in a list; a token with more of them is asked for its holders. */
const listedHolders = 100;

/** Who holds the token, from the alias `t`; in order of address. */
export const holdersColumn = sql<Buffer[]>`CASE WHEN t.owner IS NOT NULL THEN ARRAY[t.owner] ELSE ARRAY(
  SELECT h.owner FROM nft.holdings h WHERE h.chain_id = t.chain_id AND h.contract = t.contract
    AND h.token_id = t.token_id ORDER BY h.owner LIMIT ${sql.lit(listedHolders)}) END`.as("holders");

/** JavaScript dates end at milliseconds; the legacy answers show microseconds. */
export const fetchedAtMicros = sql<bigint | null>`(extract(epoch from m.fetched_at) * 1000000)::bigint`.as(
  "fetched_at_micros",
);

/** A contract's record with whole texts, for its details, from the aliases `c` (nft.contracts) and `cm` (service.contract_metadata). */
export const contractColumns = [
  "c.address as contract_address",
  "c.standard as contract_standard",
  "cm.name as contract_name",
  "cm.symbol as contract_symbol",
  "cm.description as contract_description",
  "cm.thumbnail_url as contract_thumbnail_url",
  "cm.cached_thumbnail_url as contract_cached_thumbnail_url",
  "cm.banner_url as contract_banner_url",
  "cm.cached_banner_url as contract_cached_banner_url",
] as const;

/** The same for lists. The URLs of our own copies are short. */
export const listedContractColumns = [
  "c.address as contract_address",
  "c.standard as contract_standard",
  capped("cm.name", listedTextBytes).as("contract_name"),
  capped("cm.symbol", listedTextBytes).as("contract_symbol"),
  capped("cm.description", listedTextBytes).as("contract_description"),
  capped("cm.thumbnail_url", listedTextBytes).as("contract_thumbnail_url"),
  "cm.cached_thumbnail_url as contract_cached_thumbnail_url",
  capped("cm.banner_url", listedTextBytes).as("contract_banner_url"),
  "cm.cached_banner_url as contract_cached_banner_url",
] as const;

/** A column of these lists, an alias included, for statements that are written as text. */
export function selectionOf(column: (typeof listedTokenColumns | typeof listedContractColumns)[number] | string) {
  if (typeof column !== "string") return column;
  const [from = "", to] = column.split(" as ");
  return to === undefined ? sql.ref(from) : sql`${sql.ref(from)} AS ${sql.ref(to)}`;
}
