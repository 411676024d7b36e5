import { exporter, walkPath } from "ipfs-unixfs-exporter";
import type { Kysely } from "kysely";
import type { LRUCache } from "lru-cache";
import { CID } from "multiformats/cid";
import type { Database } from "../db/database.ts";
import { type BlockReader, type BlockSource, MissingBlock, storageOf } from "./block-reader.ts";
import type { ByteRange } from "./car-storage.ts";
import { countEntries, findEntry, type KnownEntry, listEntries } from "./content-index.ts";
import { type ByteSpan, dagPbCodec, overlaps, rawCodec } from "./dag-links.ts";
import { documentTypes, followLink } from "./documents.ts";
import type { Entry } from "./import-content.ts";
import { parseCid } from "./parse-cid.ts";

export interface ContentFile {
  kind: "file";
  cid: string;
  /** Whether it is one block outside of any file tree: dag-json, dag-cbor, json or cbor. */
  isDocument: boolean;
  /** The CIDs of the root and of each name in the path. */
  roots: readonly string[];
  size: number;
  /** Detected from the bytes when they were stored, or given by the maker of the directory; null for neither. */
  contentType: string | null;
  /** The bytes, all of them or one range, which must lie within the file. */
  stream(range?: ByteRange): AsyncIterable<Uint8Array>;
}

interface DirectoryEntry {
  name: string;
  cid: string;
  size: number;
}

export interface ContentDirectory {
  kind: "directory";
  cid: string;
  /** The CIDs of the root and of each name in the path. */
  roots: readonly string[];
  /** All names, in byte order. */
  entries(): Promise<readonly DirectoryEntry[]>;
  /** Some of them, for display: the first ones, or of a sharded directory those that the walk meets first. */
  firstEntries(most: number): Promise<SomeEntries>;
}

export interface SomeEntries {
  entries: readonly DirectoryEntry[];
  /** Number of all names; null: more than these, not counted. */
  count: number | null;
}

export type ResolvedContent = ContentFile | ContentDirectory;

/** Looks in the table of entries first; walks the blocks for CIDs that are no known root. */
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
  // Only fresh lookups: otherwise a path that is requested all the time would never expire.
  if (known?.entry && !remembered) recent.set(key, known);
  if (known?.entry) {
    const { entry } = known;
    const roots = path.length === 0 ? [root] : [root, entry.cid];
    return fileOf(blocks, CID.parse(entry.cid), entry.sizeBytes, entry.contentType, roots);
  }
  if (known?.listed) return path.length === 0 ? directoryOfRoot(db, cid, known.carId) : null;
  if (path.length === 0 && cid.code !== dagPbCodec) {
    const size = isReadable(cid) ? await blocks.size(cid) : null;
    return size === null ? null : fileOf(blocks, cid, size, documentTypes.get(cid.code) ?? null, [root]);
  }
  return isReadable(cid) ? await walk(blocks, cid, path) : null;
}

/** Whether content of this codec can be read as a file, a directory or a document. */
export function isReadable({ code }: CID): boolean {
  return code === rawCodec || code === dagPbCodec || documentTypes.has(code);
}

function directoryOfRoot(db: Kysely<Database>, cid: CID, carId: bigint): ContentDirectory {
  return {
    kind: "directory",
    cid: cid.toString(),
    roots: [cid.toString()],
    entries: async () => (await listEntries(db, carId)).map(entryOf),
    firstEntries: async (most) => {
      const entries = (await listEntries(db, carId, most)).map(entryOf);
      return { entries, count: entries.length < most ? entries.length : await countEntries(db, carId) };
    },
  };
}

function entryOf({ path, cid, sizeBytes }: Entry): DirectoryEntry {
  return { name: path, cid, size: sizeBytes };
}

function fileOf(
  blocks: BlockSource,
  cid: CID,
  size: number,
  contentType: string | null,
  roots: readonly string[],
): ContentFile {
  return {
    kind: "file",
    cid: cid.toString(),
    isDocument: documentTypes.has(cid.code),
    roots,
    size,
    contentType,
    stream: ({ offset, length } = { offset: 0, length: size }) => readFileBytes(blocks, cid, offset, offset + length),
  };
}

/** Exporter errors that mean: the path is not in this tree, or the tree has no files. */
const notFound = new Set(["NotFoundError", "NotUnixFSError", "NoResolverError", "BadPathError"]);

/**
 * Resolves content by its blocks alone; null where a block on the path is missing, and below a file. It goes name by
 * name, because the exporter, given a whole path, returns the file itself for one name below it.
 */
export async function walk(blocks: BlockSource, cid: CID, path: readonly string[]): Promise<ResolvedContent | null> {
  const once = readOnce(blocks);
  const roots = [cid.toString()];
  try {
    let step: Step | null = { cid, rest: path };
    while (step.rest.length > 0) {
      step = await below(once, step);
      if (!step) return null;
      roots.push(step.cid.toString());
    }
    const type = documentTypes.get(step.cid.code);
    if (type !== undefined) {
      const bytes = await once.get(step.cid);
      return bytes && fileOf(blocks, step.cid, bytes.length, type, roots);
    }
    const node = await exporter(step.cid, storageOf(once));
    if (node.type === "file" || node.type === "raw") return fileOf(blocks, node.cid, Number(node.size), null, roots);
    if (node.type !== "directory") return null;
    const { cid: found } = node;
    return {
      ...{ kind: "directory", cid: found.toString(), roots },
      entries: async () => (await listNode(blocks, found)).entries,
      firstEntries: async (most) => await listNode(blocks, found, most),
    };
  } catch (error) {
    if (error instanceof MissingBlock || notFound.has((error as Error).name)) return null;
    throw error;
  }
}

interface Step {
  cid: CID;
  rest: readonly string[];
}

async function below(blocks: BlockSource, { cid, rest: path }: Step): Promise<Step | null> {
  if (documentTypes.has(cid.code)) {
    const bytes = await blocks.get(cid);
    return bytes && followLink(cid, bytes, path);
  }
  const [name = "", ...rest] = path;
  const read = storageOf(blocks);
  const { type } = await exporter(cid, read);
  if (type !== "directory" || name.includes("/")) return null;
  let found = cid;
  for await (const entry of walkPath(`${cid}/${name}`, read)) found = entry.cid;
  return { cid: found, rest };
}

/** Caches the blocks of one walk, which looks at each directory twice. */
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

async function listNode(blocks: BlockSource, cid: CID, most = Number.POSITIVE_INFINITY): Promise<SomeEntries> {
  const node = await exporter(cid, storageOf(blocks));
  if (node.type !== "directory") return { entries: [], count: 0 };
  const entries: DirectoryEntry[] = [];
  let isAll = true;
  for await (const { name, cid: child, size } of node.entries()) {
    isAll = entries.length < most;
    if (!isAll) break;
    entries.push({ name, cid: child.toString(), size: Number(size) });
  }
  entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  return { entries, count: isAll ? entries.length : null };
}

/** Deeper trees are malicious: at 174 links each, five levels have more bytes than any disk. */
const deepest = 16;

interface Piece {
  /** Offset of its first byte in the file. */
  start: number;
  load(): Promise<Uint8Array>;
}

/**
 * The bytes of a UnixFS file from `from` up to `until`, as fast as the reader takes them: two blocks are in memory. The
 * exporter's own `content()` reads a whole file ahead of its reader.
 */
export async function* readFileBytes(blocks: BlockSource, cid: CID, from: number, until: number) {
  let ahead: { start: number; bytes: Promise<Uint8Array> } | null = null;
  for await (const { start, load } of piecesOf(blocks, cid, 0, until, { from, until }, deepest)) {
    const bytes = load();
    // A reader that stops early never awaits this promise.
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
  range: ByteSpan,
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

/** @param size null for a file of one block, whose size is recorded nowhere else. */
async function leaf(blocks: BlockSource, cid: CID, size: number | null): Promise<Uint8Array> {
  const bytes = await blocks.get(cid);
  if (!bytes) throw new MissingBlock(cid);
  if (size !== null && bytes.length !== size) throw new Error(`${cid} is not as large as its parent says`);
  return bytes;
}

function cut(bytes: Uint8Array, start: number, from: number, until: number): Uint8Array {
  return bytes.subarray(Math.max(0, from - start), Math.max(0, until - start));
}
