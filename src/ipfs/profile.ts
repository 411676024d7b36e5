import type { ImporterOptions } from "ipfs-unixfs-importer";
import { fixedSize } from "ipfs-unixfs-importer/chunker";
import { balanced } from "ipfs-unixfs-importer/layout";

/** Stored with each upload: the same bytes have another CID under another profile. */
export const profileName = "unixfs-v1-2025";

/** A file up to this size is one raw block, so its CID is just the hash of its bytes. */
export const chunkBytes = 1_048_576;

/**
 * How bytes become CIDs: IPIP-499's `unixfs-v1-2025`, spelled out, since a library's defaults change.
 * Chosen over `ipfs add --cid-version=1` (256 KiB chunks, 174 links): the `/v0` contract promises raw CIDs up to 1 MiB,
 * the CIDs that the original service gave for images are all raw, and remote pins need no match, since they are made
 * from our CARs, which contain the root. The golden vectors (one chunk, small directories) come out the same under
 * both.
 */
export const importerOptions = {
  cidVersion: 1,
  rawLeaves: true,
  leafType: "file",
  reduceSingleLeafToSelf: true,
  chunker: fixedSize({ chunkSize: chunkBytes }),
  layout: balanced({ maxChildrenPerNode: 1_024 }),
  shardSplitThresholdBytes: 262_144,
  shardSplitStrategy: "block-bytes",
  shardFanoutBits: 8,
  fieldOrder: "links-first",
  wrapWithDirectory: false,
  // Not part of the profile: chunks in memory at a time.
  fileImportConcurrency: 1,
  blockWriteConcurrency: 2,
} as const satisfies ImporterOptions;
