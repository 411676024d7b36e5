import { importer, type WritableStorage } from "ipfs-unixfs-importer";
import { base32 } from "multiformats/bases/base32";
import type { CID } from "multiformats/cid";
import { ServiceError } from "../errors/errors.ts";
import { LongWork } from "../long-work.ts";
import { cidOfBlock } from "./block-hash.ts";
import { rawCodec } from "./dag-links.ts";
import { type LinkTarget, storeDirectory } from "./directory-tree.ts";
import { countForMinorGc } from "./minor-gc.ts";
import { chunkBytes, importerOptions } from "./profile.ts";
import { guessTextType, sniffedBytes, sniffType } from "./sniff-type.ts";

export interface NewFile {
  stream: AsyncIterable<Uint8Array>;
}

export interface NewDirectoryFile {
  /** All names under which the file is linked. */
  names: readonly string[];
  bytes: Uint8Array;
  contentType: string;
}

/** A file below the root: `path` is "" when the root itself is the file. */
export interface Entry {
  path: string;
  cid: string;
  sizeBytes: number;
  contentType: string | null;
}

export interface Imported {
  root: CID;
  sizeBytes: number;
  /** Null where the paths are not known. */
  entries: Iterable<Entry> | null;
  entryCount: number;
}

/** Turns a stream of bytes into blocks, with a few chunks in memory at a time. */
export async function importFile(file: NewFile, blocks: WritableStorage): Promise<Imported> {
  let sizeBytes = 0;
  const head: Uint8Array[] = [];
  async function* watched() {
    for await (const chunk of file.stream) {
      if (sizeBytes < sniffedBytes) head.push(chunk.subarray(0, sniffedBytes - sizeBytes));
      sizeBytes += chunk.length;
      // Twice: the importer copies these pieces into blocks.
      countForMinorGc(2 * chunk.length);
      yield chunk;
    }
  }
  const { cid: root } = await last(importer([{ content: watched() }], blocks, { ...importerOptions }));
  const first = Buffer.concat(head);
  // From the bytes alone: the first uploader must not decide the type for everybody.
  const contentType = sniffType(first) ?? guessTextType(first) ?? "application/octet-stream";
  return { root, sizeBytes, entries: [{ path: "", cid: root.toString(), sizeBytes, contentType }], entryCount: 1 };
}

/**
 * Turns files into one flat directory, each linked under all of its names.
 *
 * @throws ServiceError `value_error` for a name that two files with different bytes claim.
 */
export async function importDirectory(
  files: AsyncIterable<NewDirectoryFile>,
  blocks: WritableStorage,
  work = new LongWork(""),
): Promise<Imported> {
  const links = new Map<string, StoredFile>();
  let sizeBytes = 0;
  for await (const { names, bytes, contentType } of files) {
    if (work.isOver) await work.rest();
    const { cid, size } = await importBytes(bytes, blocks);
    sizeBytes += bytes.length;
    const file = { cid: cid.bytes, treeBytes: Number(size), sizeBytes: bytes.length, contentType };
    for (const path of names) {
      const before = links.get(path);
      if (before && Buffer.compare(before.cid, file.cid) !== 0) {
        throw new ServiceError("value_error", `two different files claim the name ${JSON.stringify(path)}`, {
          details: { name: path },
        });
      }
      links.set(path, file);
    }
  }
  const root = await storeDirectory(links, blocks, work);
  return { root, sizeBytes, entries: entriesOf(links), entryCount: links.size };
}

/** One object for all names of a file. A directory has tens of thousands, so texts are made only when needed. */
interface StoredFile extends LinkTarget {
  sizeBytes: number;
  contentType: string;
}

function* entriesOf(links: ReadonlyMap<string, StoredFile>): Generator<Entry> {
  for (const [path, { cid, sizeBytes, contentType }] of links) {
    yield { path, cid: base32.encode(cid), sizeBytes, contentType };
  }
}

/** A single chunk is one raw block in our profile. The importer's overhead would show in large directories. */
async function importBytes(bytes: Uint8Array, blocks: WritableStorage): Promise<{ cid: CID; size: bigint }> {
  if (bytes.length > chunkBytes) return await last(importer([{ content: bytes }], blocks, { ...importerOptions }));
  const cid = cidOfBlock(rawCodec, bytes);
  await blocks.put(cid, bytes);
  return { cid, size: BigInt(bytes.length) };
}

/** The importer yields the root last. */
async function last<T>(results: AsyncIterable<T>): Promise<T> {
  let found: T | undefined;
  for await (const result of results) found = result;
  if (found === undefined) throw new Error("the importer made nothing");
  return found;
}
