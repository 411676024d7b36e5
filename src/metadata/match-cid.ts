import { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import type { IpfsLocation } from "./ipfs-location.ts";

const rawCodec = 0x55;

/**
 * Whether a gateway's bytes can be the content that was asked for. Files of one raw block are
 * checked against their hash; for larger ones and for paths a gateway would have to send its
 * blocks, so there its word is taken.
 */
export async function matchesCid({ cid, path }: IpfsLocation, bytes: Uint8Array): Promise<boolean> {
  const wanted = CID.parse(cid);
  if (path.length > 0 || wanted.code !== rawCodec || wanted.multihash.code !== sha256.code) return true;
  const digest = await sha256.digest(bytes);
  return Buffer.from(digest.digest).equals(Buffer.from(wanted.multihash.digest));
}
