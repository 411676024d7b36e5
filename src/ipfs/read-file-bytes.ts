import { exporter } from "ipfs-unixfs-exporter";
import type { CID } from "multiformats/cid";
import { rawCodec } from "./dag-links.ts";
import { documentTypes } from "./documents.ts";
import { type BlockSource, MissingBlock, storageOf } from "./missing-block.ts";

/** Deeper trees are made to hurt: at 174 links each, five levels hold more than any disk. */
const deepest = 16;

interface Piece {
  /** Of its first byte in the file. */
  start: number;
  load(): Promise<Uint8Array>;
}

/**
 * The bytes of a UnixFS file from `from` up to `until`, as fast as they are taken: two blocks are in memory.
 * The exporter's own `content()` reads a whole file ahead of its reader.
 */
export async function* readFileBytes(blocks: BlockSource, cid: CID, from: number, until: number) {
  let ahead: { start: number; bytes: Promise<Uint8Array> } | null = null;
  for await (const { start, load } of piecesOf(blocks, cid, 0, until, { from, until }, deepest)) {
    const bytes = load();
    // A reader that stops leaves this one behind.
    bytes.catch(() => undefined);
    if (ahead) yield cut(await ahead.bytes, ahead.start, from, until);
    ahead = { start, bytes };
  }
  if (ahead) yield cut(await ahead.bytes, ahead.start, from, until);
}

async function* piecesOf(
  blocks: BlockSource,
  cid: CID,
  start: number,
  size: number,
  range: { from: number; until: number },
  levels: number,
): AsyncGenerator<Piece> {
  const isRoot = levels === deepest;
  if (cid.code === rawCodec || (isRoot && documentTypes.has(cid.code))) {
    yield { start, load: () => leaf(blocks, cid, isRoot ? null : size) };
    return;
  }
  const node = await exporter(cid, storageOf(blocks));
  if (node.type !== "file" || levels === 0) throw new Error(`${cid} is not a part of a file`);
  const { data, blockSizes } = node.unixfs;
  const { Links: links } = node.node;
  if (links.length !== blockSizes.length) throw new Error(`${cid} has other links than sizes`);
  let at = start;
  if (data && data.length > 0) {
    if (overlaps(at, data.length, range)) yield { start: at, load: async () => data };
    at += data.length;
  }
  for (const [index, link] of links.entries()) {
    const bytes = Number(blockSizes[index]);
    if (overlaps(at, bytes, range)) yield* piecesOf(blocks, link.Hash, at, bytes, range, levels - 1);
    at += bytes;
    if (at >= range.until) return;
  }
  if (!isRoot && at !== start + size) throw new Error(`${cid} is not as large as its parent says`);
}

/** @param size null for a file that is one block, whose size is recorded nowhere else. */
async function leaf(blocks: BlockSource, cid: CID, size: number | null): Promise<Uint8Array> {
  const bytes = await blocks.get(cid);
  if (!bytes) throw new MissingBlock(cid);
  if (size !== null && bytes.length !== size) throw new Error(`${cid} is not as large as its parent says`);
  return bytes;
}

function overlaps(start: number, size: number, { from, until }: { from: number; until: number }): boolean {
  return start < until && start + size > from;
}

function cut(bytes: Uint8Array, start: number, from: number, until: number): Uint8Array {
  return bytes.subarray(Math.max(0, from - start), Math.max(0, until - start));
}
