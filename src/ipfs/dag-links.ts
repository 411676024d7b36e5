import { exporter, type UnixFSFile } from "ipfs-unixfs-exporter";
import type { CID } from "multiformats/cid";

export interface Link {
  cid: CID;
  /** A part of what the block itself is: of a file, or of a sharded directory; not an entry of a directory. */
  within: boolean;
  /** Of a part of a file: where its bytes begin in those of the block's own part, and how many they are. */
  start: number;
  size: number;
}

/** Bytes of a file. */
export interface ByteSpan {
  from: number;
  /** Behind the last byte. */
  until: number;
}

/** Whether a part of a file has some of these bytes. */
export function overlaps(start: number, size: number, { from, until }: ByteSpan): boolean {
  return start < until && start + size > from;
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
  if (node.type === "file") return partsOf(node);
  if (node.type !== "directory") throw new Error(`${cid} is no part of a file tree`);
  const sharded = node.unixfs.type === "hamt-sharded-directory";
  // In a shard the two digits of its position precede each name; alone they name a shard below.
  return node.node.Links.map(({ Hash, Name }) => {
    return { cid: Hash, within: sharded && (Name ?? "").length === 2, start: 0, size: 0 };
  });
}

function partsOf({ node, unixfs }: UnixFSFile): Link[] {
  let start = unixfs.data?.length ?? 0;
  return node.Links.map(({ Hash }, index) => {
    const size = Number(unixfs.blockSizes[index] ?? 0);
    start += size;
    return { cid: Hash, within: true, start: start - size, size };
  });
}
