import { exporter } from "ipfs-unixfs-exporter";
import type { Kysely } from "kysely";
import type { LRUCache } from "lru-cache";
import { CID } from "multiformats/cid";
import type { Database } from "../db/database.ts";
import type { BlockReader } from "./block-reader.ts";
import { findEntry, type KnownEntry, listEntries } from "./content-index.ts";
import { type BlockSource, MissingBlock, storageOf } from "./missing-block.ts";
import { parseCid } from "./parse-cid.ts";
import { readFileBytes } from "./read-file-bytes.ts";

export interface ByteRange {
  offset: number;
  length: number;
}

export interface ContentFile {
  kind: "file";
  cid: string;
  size: number;
  /** Detected from the bytes when they were stored, in a directory by who made it; null where that was not done. */
  contentType: string | null;
  /** The bytes, all of them or one range, which must lie inside the file. */
  stream(range?: ByteRange): AsyncIterable<Uint8Array>;
}

export interface DirectoryEntry {
  name: string;
  cid: string;
  size: number;
}

export interface ContentDirectory {
  kind: "directory";
  cid: string;
  /** In byte order of the names. */
  entries(): Promise<readonly DirectoryEntry[]>;
}

export type ResolvedContent = ContentFile | ContentDirectory;

const rawCodec = 0x55;
const dagPbCodec = 0x70;

/** The table of entries first; a walk over blocks for CIDs that are nobody's root. */
export async function resolveContent(
  db: Kysely<Database>,
  blocks: BlockReader,
  recent: LRUCache<string, KnownEntry>,
  cidText: string,
  path: readonly string[],
): Promise<ResolvedContent | null> {
  const cid = parseCid(cidText);
  // No entry has such a name, and Postgres refuses the text.
  if (!cid || path.some((name) => name.includes("\0") || !name.isWellFormed())) return null;
  const root = cid.toString();
  const entryPath = path.join("/");
  const key = `${root}/${entryPath}`;
  const remembered = recent.get(key);
  const known = remembered ?? (await findEntry(db, root, entryPath));
  // Only what was looked up: what is asked for all the time would be believed for ever.
  if (known?.entry && !remembered) recent.set(key, known);
  if (known?.entry) {
    const { entry } = known;
    return fileOf(blocks, CID.parse(entry.cid), entry.sizeBytes, entry.contentType);
  }
  if (known?.listed) return path.length === 0 ? directoryOfRoot(db, cid, known.carId) : null;
  if (cid.code === rawCodec) {
    const size = path.length === 0 ? await blocks.size(cid) : null;
    return size === null ? null : fileOf(blocks, cid, size, null);
  }
  return cid.code === dagPbCodec ? await walk(blocks, cid, path) : null;
}

function directoryOfRoot(db: Kysely<Database>, cid: CID, carId: bigint): ContentDirectory {
  return {
    kind: "directory",
    cid: cid.toString(),
    entries: async () =>
      (await listEntries(db, carId)).map((entry) => ({ name: entry.path, cid: entry.cid, size: entry.sizeBytes })),
  };
}

function fileOf(blocks: BlockSource, cid: CID, size: number, contentType: string | null): ContentFile {
  return {
    kind: "file",
    cid: cid.toString(),
    size,
    contentType,
    stream: ({ offset, length } = { offset: 0, length: size }) => readFileBytes(blocks, cid, offset, offset + length),
  };
}

/** Errors of the exporter that say: what is asked for is not in this tree, or the tree holds no files. */
const notFound = new Set(["NotFoundError", "NotUnixFSError", "NoResolverError", "BadPathError"]);

/**
 * Finds content by its blocks alone; null where one on the way is not here, and below a file. Name by name, because the
 * exporter takes a whole path and gives the file itself for one name below it.
 */
export async function walk(blocks: BlockSource, cid: CID, path: readonly string[]): Promise<ResolvedContent | null> {
  const read = storageOf(readOnce(blocks));
  try {
    let node = await exporter(cid, read);
    for (const name of path) {
      if (node.type !== "directory" || name.includes("/")) return null;
      node = await exporter(`${node.cid}/${name}`, read);
    }
    if (node.type === "file" || node.type === "raw") return fileOf(blocks, node.cid, Number(node.size), null);
    if (node.type !== "directory") return null;
    const { cid: found } = node;
    return { kind: "directory", cid: found.toString(), entries: () => listNode(blocks, found) };
  } catch (error) {
    if (error instanceof MissingBlock || notFound.has((error as Error).name)) return null;
    throw error;
  }
}

/** The blocks of one walk, which looks at each directory twice. */
function readOnce(blocks: BlockSource): BlockSource {
  const known = new Map<string, ReturnType<BlockSource["get"]>>();
  return {
    get: async (cid) => {
      const key = cid.toString();
      const block = known.get(key) ?? blocks.get(cid);
      known.set(key, block);
      return await block;
    },
  };
}

async function listNode(blocks: BlockSource, cid: CID): Promise<DirectoryEntry[]> {
  const node = await exporter(cid, storageOf(blocks));
  if (node.type !== "directory") return [];
  const entries: DirectoryEntry[] = [];
  for await (const { name, cid: child, size } of node.entries()) {
    entries.push({ name, cid: child.toString(), size: Number(size) });
  }
  return entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
}
