import { sql } from "kysely";

/**
 * What every token read selects, from the aliases `t` (nft.tokens) and `m` (service.token_metadata).
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
  "m.status as metadata_status",
  "m.error_code as metadata_error",
] as const;

/** JavaScript dates end at milliseconds; the legacy answers show microseconds. */
export const fetchedAtMicros = sql<bigint | null>`(extract(epoch from m.fetched_at) * 1000000)::bigint`.as(
  "fetched_at_micros",
);

/** A contract's record, from the aliases `c` (nft.contracts) and `cm` (service.contract_metadata). */
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
