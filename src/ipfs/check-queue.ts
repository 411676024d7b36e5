import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";
import { claimRows, dueRows, type WorkQueue } from "../db/lease.ts";
import type { StoredCar } from "./verify-car.ts";

/** A check writes its result for the file that it read, whichever process holds the claim (`recordCheck`). */
const queue: WorkQueue = { table: "service.car", key: ["id"], due: "check_after" };

/**
 * Takes the stored CAR whose check is due longest. No other process gets it until a check at this pace must be over, twice
 * the time and ten minutes; then a worker that died has lost it.
 */
export async function claimCheck(db: Kysely<Database>, bytesPerSecond: number): Promise<StoredCar | null> {
  const seconds = sql`(600 + 2 * m.size / ${bytesPerSecond}::bigint)`;
  const columns = sql`m.id, m.root, m.file, m.size`;
  const { rows } = await claimRows<StoredCar>(queue, dueRows(queue, 1), { seconds }, columns).execute(db);
  return rows[0] ?? null;
}

/** Records what a check found. A file that was replaced in the meantime is not changed. */
export async function recordCheck(
  db: Kysely<Database>,
  { id, file }: StoredCar,
  damage: string | null,
  againAfterDays: number,
): Promise<void> {
  await sql`
    UPDATE service.car SET damage = ${damage}, checked_at = clock_timestamp(),
      check_after = clock_timestamp() + ${againAfterDays}::integer * interval '1 day'
    WHERE id = ${id} AND file = ${file}::uuid`.execute(db);
}

export interface ContentHealth {
  stored: number;
  checked: number;
  damaged: number;
  /** A few of the damaged. */
  samples: { root: string; file: string; damage: string }[];
}

/** What the checks know of all stored content. */
export async function readContentHealth(db: Kysely<Database>): Promise<ContentHealth> {
  const { rows } = await sql<ContentHealth>`
    SELECT count(*)::integer AS stored, count(checked_at)::integer AS checked, count(damage)::integer AS damaged,
      (SELECT coalesce(json_agg(example), '[]') FROM (
        SELECT root, file, damage FROM service.car WHERE damage IS NOT NULL ORDER BY id LIMIT 3) example) AS samples
    FROM service.car`.execute(db);
  return rows[0] ?? { stored: 0, checked: 0, damaged: 0, samples: [] };
}
