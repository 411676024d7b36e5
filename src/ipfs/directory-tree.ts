import { code as dagPbCodec, encode, type PBLink } from "@ipld/dag-pb";
import { murmur364 } from "@multiformats/murmur3";
import { UnixFS } from "ipfs-unixfs";
import type { WritableStorage } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { ServiceError } from "../errors/errors.ts";
import type { LongWork } from "../long-work.ts";
import { cidOfBlock } from "./block-hash.ts";
import { importerOptions } from "./profile.ts";

/** The target of a name in a directory. */
export interface LinkTarget {
  /** Binary CID. */
  cid: Uint8Array;
  /** Total size of its blocks, as parents count it (`Tsize`). */
  treeBytes: number;
}

interface Placed {
  name: string;
  target: LinkTarget;
  /** Each byte is the position at one level of the tree. */
  hash: Buffer;
}

/** Number of bytes of the hash, so the tree cannot be deeper. */
const deepest = 8;
const fanout = 256;
/** Links of a block that are encoded without a pause. */
const linksAtOnce = 200;

/**
 * Stores the blocks of a directory: one block, or a HAMT above the profile's threshold. We build the tree ourselves,
 * because the importer's needs several kilobytes for each name, and twice the time.
 * Source: specs.ipfs.tech UnixFS, IPIP-499; test/ipfs/cid-vectors.long.test.ts compares it with three others.
 *
 * @returns the root.
 * @throws ServiceError `value_error` for names with equal hashes, which nobody has by accident.
 */
export async function storeDirectory(
  targets: ReadonlyMap<string, LinkTarget>,
  blocks: WritableStorage,
  work: LongWork,
): Promise<CID> {
  const plain = await plainNode(targets, work);
  if (plain && plain.length <= importerOptions.shardSplitThresholdBytes) return await storeBlock(plain, blocks);
  const placed: Placed[] = [];
  for (const [name, target] of targets) {
    if (work.isOver) await work.rest();
    placed.push({ name, target, hash: await hashOf(name) });
  }
  return CID.decode((await storeShard(placed, 0, { blocks, work })).cid);
}

/** @returns undefined where the names and CIDs alone exceed the threshold: the block would not be used. */
async function plainNode(targets: ReadonlyMap<string, LinkTarget>, work: LongWork): Promise<Uint8Array | undefined> {
  let least = 0;
  for (const [name, { cid }] of targets) least += Buffer.byteLength(name) + cid.length;
  if (least > importerOptions.shardSplitThresholdBytes) return undefined;
  await work.pause();
  // One character per byte: strings are compared much faster than byte arrays.
  const names = [...targets.keys()].map((name) => [Buffer.from(name).toString("latin1"), name] as const);
  await work.pause();
  names.sort(([one], [other]) => (one < other ? -1 : 1));
  const parts: Uint8Array[] = [];
  for (let at = 0; at < names.length; at += linksAtOnce) {
    await work.pause();
    const some = names.slice(at, at + linksAtOnce);
    const Links = some.map(([, name]) => linkTo(name, targets.get(name) as LinkTarget));
    // Protobuf allows a repeated field to be encoded in parts, and in dag-pb links precede data.
    parts.push(encode({ Links }));
  }
  return Buffer.concat([...parts, encodeNode(new UnixFS({ type: "directory" }), [])]);
}

async function hashOf(name: string): Promise<Buffer> {
  return Buffer.from(await murmur364.encode(Buffer.from(name)));
}

interface Building {
  blocks: WritableStorage;
  work: LongWork;
}

/** @param links whose hashes are equal in their first `depth` positions. */
async function storeShard(links: readonly Placed[], depth: number, building: Building): Promise<LinkTarget> {
  if (depth >= deepest) {
    const names = links.slice(0, 2).map(({ name }) => JSON.stringify(name));
    throw new ServiceError("value_error", `the names ${names.join(" and ")} cannot be in one directory; rename one`);
  }
  const bits = Buffer.alloc(fanout / 8);
  const children: PBLink[] = [];
  for (const [position, placed] of (await placesOf(links, depth, building.work)).entries()) {
    if (placed.length === 0) continue;
    if (building.work.isOver) await building.work.rest();
    const byte = bits.length - 1 - (position >> 3);
    bits[byte] = (bits[byte] ?? 0) | (1 << (position & 7));
    const prefix = position.toString(16).toUpperCase().padStart(2, "0");
    const [only] = placed.length === 1 ? placed : [];
    children.push(
      only ? linkTo(prefix + only.name, only.target) : linkTo(prefix, await storeShard(placed, depth + 1, building)),
    );
  }
  const data = bits.subarray(bits.findIndex((byte) => byte !== 0));
  const sharding = { data, hashType: BigInt(murmur364.code), fanout: BigInt(fanout) };
  const block = encodeNode(new UnixFS({ type: "hamt-sharded-directory", ...sharding }), children);
  const root = await storeBlock(block, building.blocks);
  return { cid: root.bytes, treeBytes: children.reduce((sum, { Tsize = 0 }) => sum + Tsize, block.length) };
}

/** Groups links by the next position of their hashes. Sorting all of them by hash would be one long blocking step. */
async function placesOf(links: readonly Placed[], depth: number, work: LongWork): Promise<Placed[][]> {
  const places: Placed[][] = Array.from({ length: fanout }, () => []);
  for (const link of links) {
    if (work.isOver) await work.rest();
    places[link.hash[depth] ?? 0]?.push(link);
  }
  return places;
}

function linkTo(name: string, { cid, treeBytes }: LinkTarget): PBLink {
  return { Name: name, Tsize: treeBytes, Hash: CID.decode(cid) };
}

/** @param links in byte order of their names, as dag-pb requires. */
function encodeNode(data: UnixFS, links: PBLink[]): Uint8Array {
  return encode({ Data: data.marshal(), Links: links });
}

async function storeBlock(block: Uint8Array, blocks: WritableStorage): Promise<CID> {
  const root = cidOfBlock(dagPbCodec, block);
  await blocks.put(root, block);
  return root;
}
