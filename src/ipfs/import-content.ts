import { hash } from "node:crypto";
import { importer, type WritableStorage } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { ServiceError } from "../errors.ts";
import { storeDirectory } from "./directory-tree.ts";
import { chunkBytes, importerOptions } from "./profile.ts";
import { sniffedBytes, sniffType } from "./sniff-type.ts";

export interface NewFile {
  stream: AsyncIterable<Uint8Array>;
  /** What the sender says; the bytes themselves win where they are recognised. */
  contentType: string | null;
}

export interface NewDirectoryFile {
  /** Every name under which the file is linked. */
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
  /** Null where they are not known by path. */
  entries: Entry[] | null;
}

const rawCodec = 0x55;
const sha256Code = 0x12;

/** Turns a stream of bytes into blocks; a few chunks are in memory at a time. */
export async function importFile(file: NewFile, blocks: WritableStorage): Promise<Imported> {
  let sizeBytes = 0;
  const head: Uint8Array[] = [];
  async function* watched() {
    for await (const chunk of file.stream) {
      if (sizeBytes < sniffedBytes) head.push(chunk.subarray(0, sniffedBytes));
      sizeBytes += chunk.length;
      yield chunk;
    }
  }
  const { cid: root } = await last(importer([{ content: watched() }], blocks, { ...importerOptions }));
  const contentType = sniffType(Buffer.concat(head)) ?? file.contentType;
  return { root, sizeBytes, entries: [{ path: "", cid: root.toString(), sizeBytes, contentType }] };
}

/**
 * Turns files into one flat directory, each linked under all of its names.
 *
 * @throws ServiceError `value_error` for a name that two files with different bytes claim.
 */
export async function importDirectory(
  files: AsyncIterable<NewDirectoryFile>,
  blocks: WritableStorage,
): Promise<Imported> {
  const links = new Map<string, { name: string; cid: CID; treeBytes: number; entry: Entry }>();
  let sizeBytes = 0;
  for await (const { names, bytes, contentType } of files) {
    const { cid, size } = await importBytes(bytes, blocks);
    const treeBytes = Number(size);
    sizeBytes += bytes.length;
    const text = cid.toString();
    for (const path of names) {
      const entry = { path, cid: text, sizeBytes: bytes.length, contentType };
      const before = links.get(path);
      if (before && before.entry.cid !== entry.cid) {
        throw new ServiceError("value_error", `two different files claim the name ${JSON.stringify(path)}`, {
          details: { name: path },
        });
      }
      links.set(path, { name: path, cid, treeBytes, entry });
    }
  }
  const root = await storeDirectory(links.values(), blocks);
  return { root, sizeBytes, entries: [...links.values()].map(({ entry }) => entry) };
}

/** One chunk is one raw block in our profile: no need of the importer's machinery, whose cost shows in large directories. */
async function importBytes(bytes: Uint8Array, blocks: WritableStorage): Promise<{ cid: CID; size: bigint }> {
  if (bytes.length > chunkBytes) return await last(importer([{ content: bytes }], blocks, { ...importerOptions }));
  const cid = CID.createV1(rawCodec, createDigest(sha256Code, hash("sha256", bytes, "buffer")));
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
