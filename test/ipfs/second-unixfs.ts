import { createHash } from "node:crypto";

/**
 * UnixFS written a second time for the tests, from the specifications alone (dag-pb, UnixFS, HAMT with
 * murmur3): no part of it is shared with the importer that the service uses.
 */
export interface Node {
  /** Binary CIDv1. */
  cid: Buffer;
  /** Bytes of the whole tree below, as parents count it. */
  treeBytes: number;
  /** Bytes of the file's content. */
  fileBytes: number;
}

interface Link {
  name: string;
  node: Node;
}

const chunkBytes = 1_048_576;
const linksPerNode = 1_024;
const shardAboveBytes = 262_144;

/** The text of a CID: multibase base32, lower case. */
export function cidText(cid: Uint8Array): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let bits = "";
  for (const byte of cid) bits += byte.toString(2).padStart(8, "0");
  const groups = bits.match(/.{1,5}/g) ?? [];
  return `b${groups.map((group) => alphabet[Number.parseInt(group.padEnd(5, "0"), 2)]).join("")}`;
}

/** A file under unixfs-v1-2025. */
export function fileNode(bytes: Uint8Array): Node {
  let level: Node[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += chunkBytes)
    level.push(rawNode(bytes.subarray(at, at + chunkBytes)));
  while (level.length > 1) {
    const parents: Node[] = [];
    for (let at = 0; at < level.length; at += linksPerNode)
      parents.push(fileParent(level.slice(at, at + linksPerNode)));
    level = parents;
  }
  const [root] = level;
  if (!root) throw new Error("a file has at least one node");
  return root;
}

/** A directory under unixfs-v1-2025: sharded when its one block would be over 256 KiB. */
export function directoryNode(entries: ReadonlyMap<string, Node>): Node {
  const links = [...entries].map(([name, node]) => ({ name, node }));
  const sorted = links.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const flat = encodeNode(sorted, field(1, 1));
  return flat.length > shardAboveBytes ? shard(links, 0) : pbNode(sorted, field(1, 1));
}

function rawNode(bytes: Uint8Array): Node {
  return { cid: cidOf(0x55, bytes), treeBytes: bytes.length, fileBytes: bytes.length };
}

function fileParent(children: readonly Node[]): Node {
  const fileBytes = children.reduce((sum, child) => sum + child.fileBytes, 0);
  const sizes = children.map((child) => field(4, child.fileBytes));
  const data = Buffer.concat([field(1, 2), field(3, fileBytes), ...sizes]);
  return {
    ...pbNode(
      children.map((node) => ({ name: "", node })),
      data,
    ),
    fileBytes,
  };
}

function shard(entries: readonly Link[], depth: number): Node {
  const slots = new Map<number, Link[]>();
  for (const entry of entries) {
    const slot = murmur(Buffer.from(entry.name))[depth] ?? 0;
    slots.set(slot, [...(slots.get(slot) ?? []), entry]);
  }
  let bitfield = 0n;
  const links: Link[] = [];
  for (const [slot, inside] of [...slots].sort(([a], [b]) => a - b)) {
    bitfield |= 1n << BigInt(slot);
    const prefix = slot.toString(16).toUpperCase().padStart(2, "0");
    const [only] = inside;
    if (inside.length === 1 && only) links.push({ name: prefix + only.name, node: only.node });
    else links.push({ name: prefix, node: shard(inside, depth + 1) });
  }
  const hex = bitfield.toString(16);
  const bits = Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex");
  return pbNode(links, Buffer.concat([field(1, 5), bytesField(2, bits), field(5, 0x22), field(6, 256)]));
}

function pbNode(links: readonly Link[], data: Buffer): Node {
  const bytes = encodeNode(links, data);
  const below = links.reduce((sum, { node }) => sum + node.treeBytes, 0);
  return { cid: cidOf(0x70, bytes), treeBytes: bytes.length + below, fileBytes: 0 };
}

/** dag-pb: the links come before the data, whatever their numbers say. */
function encodeNode(links: readonly Link[], data: Buffer): Buffer {
  const encoded = links.map(({ name, node }) =>
    bytesField(2, Buffer.concat([bytesField(1, node.cid), bytesField(2, Buffer.from(name)), field(3, node.treeBytes)])),
  );
  return Buffer.concat([...encoded, bytesField(1, data)]);
}

function cidOf(codec: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([1, codec, 0x12, 0x20]), createHash("sha256").update(bytes).digest()]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}

function field(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
}

function bytesField(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

const word = (value: bigint) => BigInt.asUintN(64, value);
const turn = (value: bigint, by: bigint) => word((value << by) | (value >> (64n - by)));
const c1 = 0x87c37b91114253d5n;
const c2 = 0x4cf5ad432745937fn;

/** The first eight bytes of murmur3 x64 128, seed 0. */
function murmur(bytes: Buffer): Buffer {
  let h1 = 0n;
  let h2 = 0n;
  const whole = bytes.length - (bytes.length % 16);
  for (let at = 0; at < whole; at += 16) {
    h1 ^= word(turn(word(bytes.readBigUInt64LE(at) * c1), 31n) * c2);
    h1 = word((turn(h1, 27n) + h2) * 5n + 0x52dce729n);
    h2 ^= word(turn(word(bytes.readBigUInt64LE(at + 8) * c2), 33n) * c1);
    h2 = word((turn(h2, 31n) + h1) * 5n + 0x38495ab5n);
  }
  const tail = Buffer.alloc(16);
  bytes.copy(tail, 0, whole);
  h2 ^= word(turn(word(tail.readBigUInt64LE(8) * c2), 33n) * c1);
  h1 ^= word(turn(word(tail.readBigUInt64LE(0) * c1), 31n) * c2);
  h1 ^= BigInt(bytes.length);
  h2 ^= BigInt(bytes.length);
  h1 = word(h1 + h2);
  h2 = word(h2 + h1);
  h1 = word(mix(h1) + mix(h2));
  const out = Buffer.alloc(8);
  out.writeBigUInt64BE(h1);
  return out;
}

function mix(value: bigint): bigint {
  let k = value ^ (value >> 33n);
  k = word(k * 0xff51afd7ed558ccdn);
  k ^= k >> 33n;
  k = word(k * 0xc4ceb9fe1a85ec53n);
  return k ^ (k >> 33n);
}
