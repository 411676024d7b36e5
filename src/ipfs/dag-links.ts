import { exporter, type UnixFSFile } from "ipfs-unixfs-exporter";
import type { CID } from "multiformats/cid";

export interface Link {
  cid: CID;
  /** Whether the linked block is a part of the same file or sharded directory, and not an entry of a directory. */
  within: boolean;
  /** For a part of a file: offset of its bytes in those of the linking block, and their number. */
  start: number;
  size: number;
}

/** Bytes of a file. */
export interface ByteSpan {
  from: number;
  /** Position after the last byte. */
  until: number;
}

/** Whether a part of a file contains any of these bytes. */
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
  // In a shard each name begins with two hex digits of its position; without more, the link leads to a shard below.
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
