import { CID } from "multiformats/cid";
import { ServiceError } from "../errors/errors.ts";
import { identity, keyOf } from "./block-hash.ts";
import { type BlockReader, type BlockSource, MissingBlock } from "./block-reader.ts";
import { header, section } from "./car-file.ts";
import { type ByteSpan, type Link, linksOf, overlaps } from "./dag-links.ts";
import { documentLinks, documentTypes } from "./documents.ts";
import { walk } from "./resolve-content.ts";

/** Blocks of a path's target: `all`; `entity`, the file or the directory without its entries; `block`, only its own. */
export type DagScope = "all" | "entity" | "block";

/** First and last byte. Negative numbers count from the end of the file; null is its end. */
export interface EntityBytes {
  from: number;
  to: number | null;
}

export interface CarShape {
  scope: DagScope;
  /** Of a file, only the blocks with these bytes; for the scope `entity`. */
  bytes?: EntityBytes | null;
  /** Whether a block is repeated each time that the walk meets it. */
  dups?: boolean;
  /** Awaited after so many blocks, before the next. */
  pay?: (blocks: number) => Promise<void>;
}

/** The share of a block that is charged for one that was read a moment ago. */
const knownBlock = 0.25;
/** Blocks between two calls of `pay`; blocks looked up in one statement; bytes of small blocks sent in one piece. */
const paidAtOnce = 32;
const lookedUpAtOnce = 256;
const pieceBytes = 65_536;

/** How much one CAR may repeat: a few small blocks can be linked so that a walk meets them without end. */
const repeatedBlocks = 16_384;
const repeatedBytes = 67_108_864;

/**
 * Content as a CAR: the blocks along the path, then those of its target, depth first. A few blocks are in memory, each
 * checked against its hash when it is read. Blocks with an identity CID are left out.
 *
 * @returns null for content that is not here, "outside" for bytes that a file does not have. A block that is missing
 *   further down ends the iteration with `MissingBlock`.
 */
export async function exportCar(
  blocks: BlockReader,
  root: CID,
  path: readonly string[],
  shape: CarShape,
): Promise<AsyncIterable<Uint8Array> | "outside" | null> {
  const onTheWay = new Map<string, CID>();
  const watched: BlockSource = {
    get: async (cid) => {
      onTheWay.set(keyOf(cid.bytes), cid);
      return await blocks.get(cid);
    },
  };
  const found = await walk(watched, root, path);
  if (!found) return null;
  const target = CID.parse(found.cid);
  const isFile = found.kind === "file" && !found.isDocument;
  const range = shape.bytes && isFile ? rangeOf(shape.bytes, found.size) : null;
  if (range === "outside") return range;
  onTheWay.delete(keyOf(target.bytes));
  const size = isFile ? found.size : 0;
  const parts = carOf(blocks, root, [...onTheWay.values()], { cid: target, start: 0, size }, { ...shape, range });
  return inPieces(parts);
}

function rangeOf({ from, to }: EntityBytes, size: number): ByteSpan | "outside" {
  const first = from < 0 ? Math.max(0, size + from) : from;
  const last = to === null ? size - 1 : to < 0 ? size + to : to;
  if (size > 0 && (first >= size || last < 0)) return "outside";
  // An empty range has no blocks below the root.
  return first > last ? { from: 0, until: 0 } : { from: first, until: last + 1 };
}

type Part = Omit<Link, "within">;

async function* carOf(
  blocks: BlockReader,
  root: CID,
  onTheWay: readonly CID[],
  target: Part,
  { scope, dups = false, range, pay }: CarShape & { range: ByteSpan | null },
): AsyncGenerator<Uint8Array> {
  yield header(root);
  for (const cid of onTheWay) yield* blockOf(cid, present(cid, await blocks.get(cid)));
  const read = blocks.walking();
  let unpaid = 0;
  const sent = new Set<string>();
  /** Blocks sent with every block below them: without a range those are all that were sent. */
  const walked = range === null ? sent : new Set<string>();
  const repeated = { blocks: 0, bytes: 0 };
  // The last one is taken first.
  const ahead = [target];
  for (let next = ahead.pop(); next; next = ahead.pop()) {
    const { cid, start, size } = next;
    const key = keyOf(cid.bytes);
    const isWhole = range === null || (range.from <= start && start + size <= range.until);
    if (!dups && isWhole && walked.has(key)) continue;
    const behind = () => ahead.slice(1 - lookedUpAtOnce).map((part) => part.cid);
    const bytes = present(cid, await read(cid, behind));
    unpaid += sent.has(key) ? knownBlock : 1;
    if (unpaid >= paidAtOnce && pay) {
      await pay(unpaid);
      unpaid = 0;
    }
    if (!sent.has(key) || dups) yield* blockOf(cid, bytes);
    if (sent.has(key) && dups) refuseRepeats(repeated, bytes.length);
    sent.add(key);
    if (isWhole) walked.add(key);
    if (scope === "block") continue;
    for (const link of (await linksBelow(cid, bytes)).toReversed()) {
      const at = { cid: link.cid, start: start + link.start, size: link.size };
      if ((scope === "all" || link.within) && (range === null || overlaps(at.start, at.size, range))) ahead.push(at);
    }
  }
}

function present(cid: CID, bytes: Uint8Array | null): Uint8Array {
  if (!bytes) throw new MissingBlock(cid);
  return bytes;
}

/** Joins small parts: each part that is sent by itself costs as much as reading a block. */
async function* inPieces(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let small: Uint8Array[] = [];
  let bytes = 0;
  const gathered = () => {
    const piece = Buffer.concat(small, bytes);
    [small, bytes] = [[], 0];
    return piece;
  };
  try {
    for await (const part of parts) {
      const isLarge = part.length >= pieceBytes;
      if (!isLarge) {
        small.push(part);
        bytes += part.length;
      }
      if (bytes > 0 && (isLarge || bytes >= pieceBytes)) yield gathered();
      // Not copied: the copy would wait in memory for the collector.
      if (isLarge) yield part;
    }
  } catch (error) {
    // The blocks before a missing one are sent all the same.
    if (bytes > 0) yield gathered();
    throw error;
  }
  if (bytes > 0) yield gathered();
}

function* blockOf(cid: CID, bytes: Uint8Array): Generator<Uint8Array> {
  if (cid.multihash.code === identity) return;
  yield section(cid, bytes.length);
  yield bytes;
}

async function linksBelow(cid: CID, bytes: Uint8Array): Promise<Link[]> {
  if (!documentTypes.has(cid.code)) return await linksOf(cid, bytes);
  return documentLinks(cid, bytes).map((link) => ({ cid: link, within: false, start: 0, size: 0 }));
}

function refuseRepeats(repeated: { blocks: number; bytes: number }, bytes: number): void {
  repeated.blocks += 1;
  repeated.bytes += bytes;
  if (repeated.blocks <= repeatedBlocks && repeated.bytes <= repeatedBytes) return;
  throw new ServiceError("file_too_large", `a CAR repeats up to ${repeatedBytes} bytes in ${repeatedBlocks} blocks`);
}
