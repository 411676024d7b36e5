import { exporter } from "ipfs-unixfs-exporter";
import type { CID } from "multiformats/cid";

export interface Link {
  cid: CID;
  /** A part of what the block itself is: of a file, or of a sharded directory; not an entry of a directory. */
  within: boolean;
}

export const rawCodec = 0x55;
export const dagPbCodec = 0x70;

/**
 * The links of a block of a file tree.
 *
 * @throws Error for a block that is neither raw nor UnixFS.
 */
export async function linksOf(cid: CID, bytes: Uint8Array): Promise<Link[]> {
  if (cid.code === rawCodec) return [];
  if (cid.code !== dagPbCodec) throw new Error(`${cid} has codec 0x${cid.code.toString(16)}; files are raw or dag-pb`);
  const itself = {
    async *get() {
      yield bytes;
    },
  };
  const node = await exporter(cid, itself);
  if (node.type === "file") return node.node.Links.map(({ Hash }) => ({ cid: Hash, within: true }));
  if (node.type !== "directory") throw new Error(`${cid} is no part of a file tree`);
  const sharded = node.unixfs.type === "hamt-sharded-directory";
  // In a shard the two digits of its position precede each name; alone they name a shard below.
  return node.node.Links.map(({ Hash, Name }) => ({ cid: Hash, within: sharded && (Name ?? "").length === 2 }));
}
