import type { Generated } from "kysely";

export interface MetadataTables {
  "service.token_metadata": TokenMetadataTable;
  "service.contract_metadata": ContractMetadataTable;
  "service.metadata_cursor": MetadataCursorTable;
  "service.raw_document": RawDocumentTable;
  "service.token_trait": TokenTraitTable;
}

export type MetadataStatus = "pending" | "fresh" | "failed";

/** What was read for a token or a contract, and the job of reading it. */
interface ReadingColumns {
  chain_id: number;
  status: Generated<MetadataStatus>;
  attempts: Generated<number>;
  next_attempt_at: Generated<Date | null>;
  lease_id: string | null;
  lease_until: Date | null;
  /** The row is stale until it has been read at this block or a later one. */
  wanted_block: bigint | null;
  fetched_block: bigint | null;
  attempted_at: Date | null;
  fetched_at: Date | null;
  error_code: string | null;
  name: string | null;
  description: string | null;
  /** Made by a trigger; see `src/nfts/rendered.ts`. */
  rendered: string | null;
  rendered_as: string | null;
}

/** What is known from a token's URI. Key: chain, contract, token id. */
interface TokenMetadataTable extends ReadingColumns {
  contract: Buffer;
  token_id: string;
  priority: Generated<number>;
  token_uri: string | null;
  /** JSON text of an object, unchanged. */
  metadata: string | null;
  metadata_hash: Buffer | null;
  raw_cid: string | null;
  image: string | null;
  animation_url: string | null;
  cached_image: string | null;
  cached_animation: string | null;
  id_in_metadata: string | null;
  /** What was left out of the document, each as MEMBER:REASON. */
  warnings: string[] | null;
  /** The same for its traits; made by a trigger. */
  trait_warnings: string[] | null;
  file_width: number | null;
  file_height: number | null;
  file_size: bigint | null;
  file_type: string | null;
  file_error: string | null;
}

/** Name, symbol and contractURI, as the contract returns them. Key: chain, address. */
interface ContractMetadataTable extends ReadingColumns {
  address: Buffer;
  symbol: string | null;
  thumbnail_url: string | null;
  banner_url: string | null;
  cached_thumbnail_url: string | null;
  cached_banner_url: string | null;
  royalty_bps: number | null;
  /** Consecutive readings without a change; each doubles the time until the next. */
  unchanged: Generated<number>;
  /** Whether it is an ERC-20 whose logs look like ERC-721's; null: not checked yet. */
  fungible: boolean | null;
  refresh_requested_at: Date | null;
  refresh_applied_at: Date | null;
  contract_uri: string | null;
  /** JSON text of an object. */
  document: string | null;
  uri_error: string | null;
  announced_at: Date | null;
  /** When a reader first asked for it; null: only its first tokens are read. */
  demanded_at: Date | null;
  /** When all tokens that it had then were queued for that reason. */
  queued_at: Date | null;
}

interface MetadataCursorTable {
  chain_id: number;
  mint_block: Generated<bigint>;
  update_block: Generated<bigint>;
  swept_at: Date | null;
}

/** Original bytes of documents that no column stores unchanged. Key: hash. */
interface RawDocumentTable {
  /** sha256 of all bytes. */
  hash: Buffer;
  size_bytes: number;
  /** The first 65,536 bytes. */
  head: Buffer;
  kept_at: Generated<Date>;
}

/** One trait of a token, maintained by a trigger on `service.token_metadata`. */
interface TokenTraitTable {
  chain_id: number;
  contract: Buffer;
  name: string;
  value: string;
  token_id: string;
  /** Decimal text. */
  number: string | null;
}
