import { hash } from "node:crypto";
import type { WritableStorage } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { create as createDigest } from "multiformats/hashes/digest";
import { ServiceError } from "../errors.ts";
import { murmur64 } from "./murmur.ts";
import { importerOptions } from "./profile.ts";

/** What a name of a directory leads to. */
export interface LinkTarget {
  /** Binary. */
  cid: Uint8Array;
  /** Of all blocks below, as parents count them (`Tsize`). */
  treeBytes: number;
}

interface Named {
  name: string;
  target: LinkTarget;
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
export async function storeDirectory(targets: ReadonlyMap<string, LinkTarget>, blocks: WritableStorage): Promise<CID> {
  let size = fieldBytes(plainData.length);
  for (const [name, target] of targets) size += fieldBytes(linkBytes(name, target));
  if (size <= importerOptions.shardSplitThresholdBytes) {
    const named = [...targets].map(([name, target]) => ({ name, target, bytes: Buffer.from(name) }));
    named.sort((a, b) => Buffer.compare(a.bytes, b.bytes));
    return (await storeNode(named, plainData, blocks)).root;
  }
  const placed: Placed[] = [];
  for (const [name, target] of targets) placed.push({ name, target, hash: murmur64(Buffer.from(name)) });
  placed.sort((a, b) => (a.hash < b.hash ? -1 : a.hash > b.hash ? 1 : 0));
  return (await storeShard(placed, 0, blocks)).root;
}

interface Stored {
  root: CID;
  target: LinkTarget;
}

/** @param links sorted by hash, equal in their first `depth` slots. */
async function storeShard(links: readonly Placed[], depth: number, blocks: WritableStorage): Promise<Stored> {
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
    if (only) children.push({ name: prefix + only.name, target: only.target });
    else {
      const { target } = await storeShard(links.slice(from, until), depth + 1, blocks);
      children.push({ name: prefix, target });
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
async function storeNode(links: readonly Named[], data: Buffer, blocks: WritableStorage): Promise<Stored> {
  let size = fieldBytes(data.length);
  for (const { name, target } of links) size += fieldBytes(linkBytes(name, target));
  const block = Buffer.allocUnsafeSlow(size);
  let at = 0;
  let treeBytes = size;
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
  for (const { name, target } of links) {
    block[at++] = 0x12;
    varint(linkBytes(name, target));
    bytesField(0x0a, target.cid);
    block[at++] = 0x12;
    varint(Buffer.byteLength(name));
    at += block.write(name, at);
    block[at++] = 0x18;
    varint(target.treeBytes);
    treeBytes += target.treeBytes;
  }
  bytesField(0x0a, data);
  const root = CID.createV1(dagPbCodec, createDigest(sha256Code, hash("sha256", block, "buffer")));
  await blocks.put(root, block);
  return { root, target: { cid: root.bytes, treeBytes } };
}

function linkBytes(name: string, { cid, treeBytes }: LinkTarget): number {
  return fieldBytes(cid.length) + fieldBytes(Buffer.byteLength(name)) + 1 + varintBytes(treeBytes);
}

/** Of a field of so many bytes, with its tag and length. */
function fieldBytes(size: number): number {
  return 1 + varintBytes(size) + size;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}
