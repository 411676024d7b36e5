import type { Config } from "../config/config.ts";
import { toHex } from "../db/bytes.ts";
import type { Standard } from "../db/tables/nft.ts";

/** One token as every read shows it. Addresses are lower case. */
export interface Nft {
  /** The chain's name as the request spelled it. */
  chain: string;
  contract: string;
  tokenId: bigint;
  standard: Standard;
  /** Holder of a live ERC-721 token; null for a burned one and for ERC-1155. */
  owner: string | null;
  supply: bigint;
  /** How many the account holds; null where the read is not about an account. */
  amount: bigint | null;
  creator: string | null;
  /** Unix seconds. */
  mintedAt: bigint | null;
  name: string | null;
  description: string | null;
  metadataUrl: string | null;
  /** JSON text of an object, as it was fetched; null also where the read did not ask for it. */
  metadata: string | null;
  fileUrl: string | null;
  animationUrl: string | null;
  cachedFileUrl: string | null;
  cachedAnimationUrl: string | null;
  fileInformation: { width: number; height: number; sizeBytes: number } | null;
  /** `pending` also before the worker has seen the token. */
  metadataStatus: "pending" | "fresh" | "failed";
  /** Why the last try failed; the members above may be of an earlier one. */
  metadataError: string | null;
  /** Last fetch of the metadata, microseconds of Unix time. */
  updatedAtMicros: bigint | null;
  /** Null where the read did not ask for it. */
  contractRecord: ContractRecord | null;
  /** Up to 100 holders by address; null where the read did not ask for them. */
  holders: string[] | null;
}

export interface ContractRecord {
  chain: string;
  address: string;
  standard: Standard;
  name: string | null;
  symbol: string | null;
  description: string | null;
  thumbnailUrl: string | null;
  cachedThumbnailUrl: string | null;
  bannerUrl: string | null;
  cachedBannerUrl: string | null;
}

/** The parts of a read that cost something; an API asks for what it will show. */
export interface NftParts {
  metadata: boolean;
  contract: boolean;
  holders?: boolean;
}

/** Columns of `tokenColumns`, and `metadata` where it was asked for. */
export interface TokenRow {
  contract: Buffer | null;
  token_id: string | null;
  standard: Standard | null;
  owner: Buffer | null;
  supply: string | null;
  creator: Buffer | null;
  mint_timestamp: bigint | null;
  name: string | null;
  description: string | null;
  token_uri: string | null;
  metadata?: string | null;
  image: string | null;
  animation_url: string | null;
  cached_image: string | null;
  cached_animation: string | null;
  file_width: number | null;
  file_height: number | null;
  file_size: bigint | null;
  status: "pending" | "fresh" | "failed" | null;
  error_code: string | null;
  fetched_at_micros: bigint | null;
  amount?: string | null;
  holders?: Buffer[];
}

/** Columns of `contractColumns`. */
export interface ContractRow {
  contract_address: Buffer;
  contract_standard: Standard;
  contract_name: string | null;
  contract_symbol: string | null;
  contract_description: string | null;
  contract_thumbnail_url: string | null;
  contract_cached_thumbnail_url: string | null;
  contract_banner_url: string | null;
  contract_cached_banner_url: string | null;
}

/** A row whose token exists: the left join of an empty page has nulls instead. */
export type PresentTokenRow<R extends TokenRow = TokenRow> = R & {
  contract: Buffer;
  token_id: string;
  standard: Standard;
};

export function isPresent<R extends TokenRow>(row: R): row is PresentTokenRow<R> {
  return row.contract !== null && row.token_id !== null && row.standard !== null;
}

/** Base of the URLs of our own copies. */
export function cachedBase(config: Config): string {
  return `${config.publicUrl}/ipfs`;
}

/** @param gateway see `cachedBase`. */
export function toNft(
  chain: string,
  gateway: string,
  row: PresentTokenRow,
  contractRecord: ContractRecord | null,
): Nft {
  const { file_width: width, file_height: height, file_size: size } = row;
  const cached = (path: string | null) => (path === null ? null : `${gateway}/${path}`);
  return {
    chain,
    contract: toHex(row.contract),
    tokenId: BigInt(row.token_id),
    standard: row.standard,
    owner: row.owner && toHex(row.owner),
    supply: BigInt(row.supply ?? 0),
    amount: row.amount == null ? null : BigInt(row.amount),
    creator: row.creator && toHex(row.creator),
    mintedAt: row.mint_timestamp,
    name: row.name,
    description: row.description,
    metadataUrl: row.token_uri,
    metadata: row.metadata ?? null,
    fileUrl: row.image,
    animationUrl: row.animation_url,
    cachedFileUrl: cached(row.cached_image),
    cachedAnimationUrl: cached(row.cached_animation),
    fileInformation:
      width === null || height === null || size === null ? null : { width, height, sizeBytes: Number(size) },
    metadataStatus: row.status ?? "pending",
    metadataError: row.error_code,
    updatedAtMicros: row.fetched_at_micros,
    contractRecord,
    holders: row.holders?.map(toHex) ?? null,
  };
}

/** The contract's part of a row that selects `contractColumns`. */
export function toContractRecord(chain: string, row: ContractRow): ContractRecord {
  return {
    chain,
    address: toHex(row.contract_address),
    standard: row.contract_standard,
    name: row.contract_name,
    symbol: row.contract_symbol,
    description: row.contract_description,
    thumbnailUrl: row.contract_thumbnail_url,
    cachedThumbnailUrl: row.contract_cached_thumbnail_url,
    bannerUrl: row.contract_banner_url,
    cachedBannerUrl: row.contract_cached_banner_url,
  };
}

/** The same for a read that may have been made without its contracts; null then. */
export function contractRecordOf(chain: string, row: OptionalContractRow): ContractRecord | null {
  const { contract_address: address, contract_standard: standard } = row;
  if (!address || !standard) return null;
  const unknown = {
    contract_name: null,
    contract_symbol: null,
    contract_description: null,
    contract_thumbnail_url: null,
    contract_cached_thumbnail_url: null,
    contract_banner_url: null,
    contract_cached_banner_url: null,
  };
  return toContractRecord(chain, { ...unknown, ...row, contract_address: address, contract_standard: standard });
}

/** A row whose contract was not asked for, or is not known. */
export type OptionalContractRow = { [K in keyof ContractRow]?: ContractRow[K] | null };
