import type { ContractRecord, Nft } from "../nfts/nft-record.ts";
import { RawJson } from "./raw-json.ts";

type Members = Record<string, unknown>;

/** Which members of a token the caller gets beside the base ones. */
export interface TokenMembers {
  metadata: boolean;
  fileInformation: boolean;
  contract: boolean;
  dates: boolean;
}

/** The contract record: an object always, its texts null when the contract tells none. */
export function contractBody(contract: ContractRecord): Members {
  return {
    name: contract.name,
    symbol: contract.symbol,
    type: contract.standard,
    metadata: {
      description: contract.description,
      thumbnail_url: contract.thumbnailUrl,
      cached_thumbnail_url: contract.cachedThumbnailUrl,
      banner_url: contract.bannerUrl,
      cached_banner_url: contract.cachedBannerUrl,
    },
  };
}

/** A token in a creator's list. */
export function createdItemBody(nft: Nft, show: { metadata: boolean; contract: boolean }): Members {
  return {
    chain: nft.chain,
    contract_address: nft.contractAddress,
    token_id: String(nft.tokenId),
    name: nft.name,
    description: nft.description,
    ...(show.metadata ? { metadata: metadataBody(nft), metadata_url: nft.metadataUrl } : {}),
    ...fileBody(nft),
    ...(show.contract ? { contract: contractBody(contractOf(nft)) } : {}),
    owner_addresses: nft.holders ?? [],
  };
}

/** Where a browser gets the file when we hold no copy: IPFS through the configured gateway; null when nowhere. */
export function servedFileUrl(url: string | null, gateway: string): string | null {
  if (url === null) return null;
  const path = /^ipfs:\/\/(?:ipfs\/)?(.+)$/i.exec(url)?.[1];
  return path === undefined ? (/^https?:\/\//i.test(url) ? url : null) : `${gateway}/${path}`;
}

function fileBody(nft: Nft): Members {
  return {
    file_url: nft.fileUrl,
    animation_url: nft.animationUrl,
    cached_file_url: nft.cachedFileUrl,
    cached_animation_url: nft.cachedAnimationUrl,
  };
}

function metadataBody(nft: Nft): RawJson | null {
  return nft.metadata === null ? null : new RawJson(nft.metadata);
}

/** A token whose contract is not in the index yet still shows a record. */
function contractOf(nft: Nft): ContractRecord {
  return (
    nft.contractRecord ?? {
      chain: nft.chain,
      address: nft.contractAddress,
      standard: nft.standard,
      name: null,
      symbol: null,
      description: null,
      thumbnailUrl: null,
      cachedThumbnailUrl: null,
      bannerUrl: null,
      cachedBannerUrl: null,
    }
  );
}
