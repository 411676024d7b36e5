import { type Kysely, sql, type Transaction } from "kysely";
import type { Database } from "../db/database.ts";
import type { BlockPosition } from "./car-file.ts";
import type { Entry } from "./import-content.ts";
import type { StoredCar } from "./verify-car.ts";

export interface NewCar {
  root: string;
  file: string;
  sizeBytes: number;
  blocks: Iterable<BlockPosition>;
  /** Null: its files can only be read by walking its blocks. */
  entries: Iterable<Entry> | null;
}

/**
 * Registers a CAR whose file is stored, or returns the registered CAR with the same root.
 *
 * @param isWhole whether the file of an earlier upload can be read; a lost or damaged one is replaced by this one.
 * @returns `used`: false when the earlier file stays and this one is not needed.
 */
export async function recordCar(
  db: Transaction<Database>,
  car: NewCar,
  isWhole: (car: StoredCar) => Promise<boolean>,
): Promise<{ carId: bigint; used: boolean }> {
  const { root, file, sizeBytes: size } = car;
  const listed = car.entries !== null;
  const added = await db
    .insertInto("service.car")
    .values({ root, file, size, listed })
    .onConflict((conflict) => conflict.column("root").doNothing())
    .returning("id")
    .executeTakeFirst();
  if (added) {
    await addContents(db, added.id, car);
    return { carId: added.id, used: true };
  }
  const before = await db
    .selectFrom("service.car")
    .select(["id", "root", "file", "size"])
    .where("root", "=", root)
    .forUpdate()
    .executeTakeFirstOrThrow();
  if (await isWhole(before)) {
    await addTypes(db, before.id, car);
    return { carId: before.id, used: false };
  }
  await db.deleteFrom("service.block").where("car_id", "=", before.id).execute();
  await db.deleteFrom("service.content_entry").where("car_id", "=", before.id).execute();
  await db
    .updateTable("service.car")
    .set({ file, size, listed, damage: null, checked_at: null })
    .where("id", "=", before.id)
    .execute();
  await addContents(db, before.id, car);
  return { carId: before.id, used: true };
}

/**
 * Rows per statement: the text of all rows of a large directory at once would be an upload's largest use of memory, and
 * its longest blocking step.
 */
const rowsAtOnce = 500;

async function addContents(db: Transaction<Database>, carId: bigint, { blocks, entries }: NewCar): Promise<void> {
  for (const some of slices(blocks)) {
    await sql`INSERT INTO service.block (car_id, multihash, position, size)
      SELECT ${carId}::bigint, * FROM unnest(${some.map(({ multihash }) => multihash)}::bytea[], ${some.map((block) => block.position)}::bigint[],
        ${some.map((block) => block.size)}::integer[])`.execute(db);
  }
  for (const some of slices(entries ?? [])) {
    await sql`INSERT INTO service.content_entry (car_id, path, cid, size, content_type)
      SELECT ${carId}::bigint, * FROM unnest(${some.map((entry) => entry.path)}::text[],
        ${some.map((entry) => entry.cid)}::text[], ${some.map((entry) => entry.sizeBytes)}::bigint[],
        ${some.map((entry) => entry.contentType)}::text[])`.execute(db);
  }
}

function* slices<T>(rows: Iterable<T>): Iterable<readonly T[]> {
  let slice: T[] = [];
  for (const row of rows) {
    if (slice.push(row) < rowsAtOnce) continue;
    yield slice;
    slice = [];
  }
  if (slice.length > 0) yield slice;
}

/** Adds the type to content that was stored before types were detected from the bytes. */
async function addTypes(db: Transaction<Database>, carId: bigint, { entries }: NewCar): Promise<void> {
  if (!Array.isArray(entries)) return;
  const [file] = entries as Entry[];
  if (file?.path !== "" || file.contentType === null) return;
  await db
    .updateTable("service.content_entry")
    .set({ content_type: file.contentType })
    .where("car_id", "=", carId)
    .where("path", "=", "")
    .where("content_type", "is", null)
    .execute();
}

/** The CAR with this root; `damage` is the fault that the last check found. */
export async function findCar(
  db: Kysely<Database>,
  root: string,
): Promise<(StoredCar & { damage: string | null }) | null> {
  const columns = ["id", "root", "file", "size", "damage"] as const;
  const car = await db.selectFrom("service.car").select(columns).where("root", "=", root).executeTakeFirst();
  return car ?? null;
}

/** Those of the given files that are in the database. */
export async function recordedFiles(db: Kysely<Database>, files: readonly string[]): Promise<Set<string>> {
  const uuids = files.filter((file) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(file));
  const { rows } = await sql<{ file: string }>`
    SELECT file FROM service.car WHERE file = ANY(${uuids}::uuid[])`.execute(db);
  return new Set(rows.map((row) => row.file));
}

export interface KnownEntry {
  carId: bigint;
  /** False: its files can only be read by walking its blocks. */
  listed: boolean;
  entry: Entry | null;
}

/** Looks up a path below a root; `entry` is null for a path that it lacks. @returns null for an unknown root. */
export async function findEntry(db: Kysely<Database>, root: string, path: string): Promise<KnownEntry | null> {
  const row = await db
    .selectFrom("service.car as car")
    .leftJoin("service.content_entry as entry", (join) =>
      join.onRef("entry.car_id", "=", "car.id").on("entry.path", "=", path),
    )
    .select(["car.id", "car.listed", "entry.cid", "entry.size", "entry.content_type"])
    .where("car.root", "=", root)
    .executeTakeFirst();
  if (!row) return null;
  const entry: Entry | null =
    row.cid === null ? null : { path, cid: row.cid, sizeBytes: Number(row.size), contentType: row.content_type };
  return { carId: row.id, listed: row.listed, entry };
}

/** @param most the first so many, in byte order of the paths; absent: all of them. */
export async function listEntries(db: Kysely<Database>, carId: bigint, most?: number): Promise<Entry[]> {
  const sorted = db
    .selectFrom("service.content_entry")
    .select(["path", "cid", "size", "content_type"])
    .where("car_id", "=", carId)
    .orderBy(sql`path COLLATE "C"`);
  const rows = await (most === undefined ? sorted : sorted.limit(most)).execute();
  return rows.map((row) => ({
    path: row.path,
    cid: row.cid,
    sizeBytes: Number(row.size),
    contentType: row.content_type,
  }));
}

export async function countEntries(db: Kysely<Database>, carId: bigint): Promise<number> {
  const { count } = await db
    .selectFrom("service.content_entry")
    .select((of) => of.fn.countAll<bigint>().as("count"))
    .where("car_id", "=", carId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Whether a CAR has more than `than` blocks. */
export async function hasMoreBlocks(db: Kysely<Database>, carId: bigint, than: number): Promise<boolean> {
  const { rows } = await sql`SELECT FROM service.block WHERE car_id = ${carId} OFFSET ${than} LIMIT 1`.execute(db);
  return rows.length > 0;
}

export interface BlockAddress {
  file: string;
  position: number;
  size: number;
}

/**
 * Positions of blocks in their files, several for a block that several CARs have.
 *
 * @returns in the order of the hashes; an empty list for a block that is not stored.
 */
export async function findBlocks(db: Kysely<Database>, hashes: readonly Uint8Array[]): Promise<BlockAddress[][]> {
  const { rows } = await sql<{ at: bigint; file: string; position: bigint; size: number }>`
    SELECT asked.at, found.* FROM unnest(${hashes.map((bytes) => Buffer.from(bytes))}::bytea[]) WITH ORDINALITY AS asked (multihash, at)
    CROSS JOIN LATERAL (SELECT car.file, block.position, block.size FROM service.block
      JOIN service.car ON car.id = block.car_id WHERE block.multihash = asked.multihash LIMIT 3) AS found`.execute(db);
  const found: BlockAddress[][] = hashes.map(() => []);
  for (const { at, file, position, size } of rows)
    found[Number(at) - 1]?.push({ file, position: Number(position), size });
  return found;
}
