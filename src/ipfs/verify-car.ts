import { type Kysely, sql } from "kysely";
import { varint } from "multiformats";
import { CID } from "multiformats/cid";
import type { Database } from "../db/database.ts";
import { isBlockOf } from "./block-hash.ts";
import { header } from "./car-file.ts";
import type { CarStorage, OpenCar } from "./car-storage.ts";

/** A CAR as its row describes it. */
export interface StoredCar {
  id: bigint;
  root: string;
  file: string;
  /** Size of the file in bytes. */
  size: bigint;
}

interface StoredBlock {
  multihash: Buffer;
  position: bigint;
  size: number;
}

const rowsAtOnce = 2_000;
/** Bytes and blocks that are read and checked in one step; a larger block is read by itself. */
const [windowBytes, windowBlocks] = [1_048_576, 250];

class Damage extends Error {}

/**
 * Reads a stored CAR from its first byte to its last and compares it with the database: the header with its root, and
 * each block with its hash, at the position where readers expect it. Memory: a few blocks.
 *
 * @param pace called with the number of bytes after each read; the check waits for it.
 * @returns the fault in a sentence; null for a CAR that is whole.
 * @throws any error that prevents the check: database or store away, no file descriptors left, no permission.
 */
export async function verifyCar(
  db: Kysely<Database>,
  car: StoredCar,
  cars: CarStorage,
  pace: (bytes: number) => Promise<void> = async () => undefined,
): Promise<string | null> {
  let file: OpenCar | null = null;
  try {
    file = await cars.open(car.file);
    if (!file) return "the file is missing";
    const { size } = file;
    if (BigInt(size) !== car.size) return `the file has ${size} bytes instead of ${car.size}`;
    const start = header(CID.parse(car.root));
    if (!(await readPart(file, 0, start.length)).equals(start)) return "the header is damaged";
    let at = start.length;
    for await (const blocks of windowsOf(db, car.id)) {
      const last = blocks.at(-1);
      const until = last ? Number(last.position) + last.size : at;
      const bytes = await readPart(file, at, until - at);
      let from = at;
      for (const block of blocks) {
        checkBlock(bytes, from - at, Number(block.position) - at, block);
        from = Number(block.position) + block.size;
      }
      await pace(bytes.length);
      at = until;
    }
    return at === size ? null : `the blocks end at byte ${at} of ${size}`;
  } catch (error) {
    if (error instanceof Damage) return error.message;
    const code = (error as NodeJS.ErrnoException | null)?.code;
    if (code === "EIO") return "the disk cannot read the file";
    throw error;
  } finally {
    await file?.close();
  }
}

/** The blocks of a CAR in the order of the file, in groups that are read at once. */
async function* windowsOf(db: Kysely<Database>, carId: bigint): AsyncGenerator<StoredBlock[]> {
  let after = 0n;
  let window: StoredBlock[] = [];
  let bytes = 0;
  for (let more = true; more; ) {
    const { rows } = await sql<StoredBlock>`
      SELECT multihash, position, size FROM service.block WHERE car_id = ${carId} AND position > ${after}
      ORDER BY position LIMIT ${rowsAtOnce}`.execute(db);
    for (const block of rows) {
      window.push(block);
      bytes += block.size;
      if (bytes < windowBytes && window.length < windowBlocks) continue;
      yield window;
      window = [];
      bytes = 0;
    }
    after = rows.at(-1)?.position ?? after;
    more = rows.length === rowsAtOnce;
  }
  if (window.length > 0) yield window;
}

/** @param from offset of the block's section in `bytes`; @param at offset of its data. */
function checkBlock(bytes: Buffer, from: number, at: number, { multihash, position, size }: StoredBlock): void {
  const found = sectionCid(bytes.subarray(from, Math.max(from, at)), size);
  if (!found || !Buffer.from(found.multihash.bytes).equals(multihash)) {
    throw new Damage(`what is before the block at byte ${position} is damaged`);
  }
  if (!isBlockOf(found, bytes.subarray(at, at + size))) {
    throw new Damage(`the block ${found} at byte ${position} is damaged`);
  }
}

/** The CID before a block's data; null for bytes that are not a length and a CID. */
function sectionCid(prefix: Uint8Array, size: number): CID | null {
  try {
    const [length, lengthBytes] = varint.decode(prefix);
    return length === prefix.length - lengthBytes + size ? CID.decode(prefix.subarray(lengthBytes)) : null;
  } catch {
    return null;
  }
}

async function readPart(file: OpenCar, position: number, length: number): Promise<Buffer> {
  if (length < 0) throw new Damage("two blocks overlap");
  const bytes = await file.read(position, length);
  if (!bytes) throw new Damage(`the file ends before byte ${position + length}`);
  return bytes;
}
