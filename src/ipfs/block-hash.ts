import { hash } from "node:crypto";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";

export const sha256 = 0x12;
/** Hash function of CIDs whose digest is the block itself. */
export const identity = 0x00;

/** The CID of a block, version 1. */
export function cidOfBlock(codec: number, bytes: Uint8Array): CID {
  return CID.createV1(codec, createDigest(sha256, hash("sha256", bytes, "buffer")));
}

/** Whether the bytes match the CID; false for a CID with a hash other than SHA-256. */
export function isBlockOf({ multihash }: CID, bytes: Uint8Array): boolean {
  return multihash.code === sha256 && hash("sha256", bytes, "buffer").equals(multihash.digest);
}

/** Bytes as a map key. A latin1 string takes half the memory of a byte array. */
export function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}
