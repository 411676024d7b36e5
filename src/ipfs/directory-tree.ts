import { hash } from "node:crypto";
import type { WritableStorage } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { ServiceError } from "../errors.ts";
import { murmur64 } from "./murmur.ts";
import { importerOptions } from "./profile.ts";

export interface DirectoryLink {
  name: string;
  cid: CID;
  /** Of all blocks below, as parents count them (`Tsize`). */
  treeBytes: number;
}

interface Named extends DirectoryLink {
  bytes: Buffer;
}
interface Placed extends Named {
  /** Its eight bytes, from the highest, are the slots on the way to the name. */
  hash: bigint;
}

const dagPbCodec = 0x70;
const sha256Code = 0x12;
/** Bytes of the hash that there are. */
const deepest = 8;
const murmurCode = 0x22;
const fanout = 256;

/** UnixFS: type 1, a directory. */
const plainData = Buffer.from([0x08, 0x01]);

/**
 * Stores the blocks of a directory, one block or a HAMT under the profile's threshold. By hand, because the
 * importer's own tree needs several kilobytes for each name, and twice the time.
 * Source: specs.ipfs.tech UnixFS, IPIP-499; test/ipfs/cid-vectors.test.ts holds it against three other makers.
 *
 * @returns the root.
 * @throws ServiceError `value_error` for names whose hashes are equal, which somebody made on purpose.
 */
export async function storeDirectory(links: Iterable<DirectoryLink>, blocks: WritableStorage): Promise<CID> {
  const named: Named[] = [];
  for (const link of links) named.push({ ...link, bytes: Buffer.from(link.name) });
  if (blockBytes(named, plainData) <= importerOptions.shardSplitThresholdBytes) {
    named.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
    return (await storeNode(named, plainData, blocks)).cid;
  }
  const placed: Placed[] = named.map((link) => ({ ...link, hash: murmur64(link.bytes) }));
  placed.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0));
  return (await storeShard(placed, 0, blocks)).cid;
}

/** @param links sorted by hash, equal in their first `depth` slots. */
async function storeShard(
  links: readonly Placed[],
  depth: number,
  blocks: WritableStorage,
): Promise<{ cid: CID; treeBytes: number }> {
  if (depth >= deepest) {
    const names = links.slice(0, 2).map(({ name }) => JSON.stringify(name));
    throw new ServiceError("value_error", `the names ${names.join(" and ")} cannot be in one directory; rename one`);
  }
  const bits = Buffer.alloc(fanout / 8);
  const children: Named[] = [];
  for (let from = 0, until = 0; from < links.length; from = until) {
    const slot = slotOf(links[from], depth);
    while (until < links.length && slotOf(links[until], depth) === slot) until += 1;
    const place = bits.length - 1 - (slot >> 3);
    bits[place] = (bits[place] ?? 0) | (1 << (slot & 7));
    const prefix = slot.toString(16).toUpperCase().padStart(2, "0");
    const [only] = until - from === 1 ? links.slice(from, until) : [];
    if (only) children.push({ ...only, bytes: Buffer.concat([Buffer.from(prefix), only.bytes]) });
    else {
      const shard = await storeShard(links.slice(from, until), depth + 1, blocks);
      children.push({ name: "", ...shard, bytes: Buffer.from(prefix) });
    }
  }
  const first = bits.findIndex((byte) => byte !== 0);
  const field = bits.subarray(first);
  // Type 5 (HAMT shard), bit field, hash, fanout.
  const head = [0x08, 0x05, 0x12, field.length];
  const data = Buffer.concat([Buffer.from(head), field, Buffer.from([0x28, murmurCode, 0x30, 0x80, 0x02])]);
  return await storeNode(children, data, blocks);
}

function slotOf(link: Placed | undefined, depth: number): number {
  return link ? Number((link.hash >> BigInt(56 - 8 * depth)) & 0xffn) : -1;
}

/** dag-pb as it is canonical: links first, in the order given, then the data. */
async function storeNode(
  links: readonly Named[],
  data: Buffer,
  blocks: WritableStorage,
): Promise<{ cid: CID; treeBytes: number }> {
  const block = Buffer.allocUnsafeSlow(blockBytes(links, data));
  let at = 0;
  let treeBytes = block.length;
  const varint = (value: number) => {
    let rest = value;
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) block[at++] = (rest % 0x80) | 0x80;
    block[at++] = rest;
  };
  const bytesField = (tag: number, bytes: Uint8Array) => {
    block[at++] = tag;
    varint(bytes.length);
    block.set(bytes, at);
    at += bytes.length;
  };
  for (const link of links) {
    block[at++] = 0x12;
    varint(linkBytes(link));
    bytesField(0x0a, link.cid.bytes);
    bytesField(0x12, link.bytes);
    block[at++] = 0x18;
    varint(link.treeBytes);
    treeBytes += link.treeBytes;
  }
  bytesField(0x0a, data);
  const cid = CID.createV1(dagPbCodec, createDigest(sha256Code, hash("sha256", block, "buffer")));
  await blocks.put(cid, block);
  return { cid, treeBytes };
}

function blockBytes(links: readonly Named[], data: Buffer): number {
  let size = 1 + varintBytes(data.length) + data.length;
  for (const link of links) {
    const bytes = linkBytes(link);
    size += 1 + varintBytes(bytes) + bytes;
  }
  return size;
}

function linkBytes({ cid, bytes, treeBytes }: Named): number {
  const [cidBytes, nameBytes] = [cid.bytes.length, bytes.length];
  return 3 + varintBytes(cidBytes) + cidBytes + varintBytes(nameBytes) + nameBytes + varintBytes(treeBytes);
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}
