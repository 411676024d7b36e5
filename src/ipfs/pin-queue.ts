import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";

export interface PinJob {
  id: string;
  cid: string;
  /** The CAR's file. */
  file: string;
  /** This one included. */
  attempts: number;
}

export const claimSeconds = 900;

/** Takes the upload that waits longest; nobody else gets it for a quarter of an hour. */
export async function claimPin(db: Kysely<Database>): Promise<PinJob | null> {
  const { rows } = await sql<PinJob>`
    UPDATE service.upload AS u
    SET pin_attempts = u.pin_attempts + 1, pin_due_at = clock_timestamp() + ${claimSeconds} * interval '1 second'
    FROM (
      SELECT id FROM service.upload
      WHERE pin_state = 'queued' AND pin_due_at <= clock_timestamp()
      ORDER BY pin_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS next, service.car AS car
    WHERE u.id = next.id AND car.id = u.car_id
    RETURNING u.id, u.cid, car.file, u.pin_attempts AS attempts`.execute(db);
  return rows[0] ?? null;
}

/** Says that the worker which claimed this upload is still at it. */
export async function keepClaim(db: Kysely<Database>, job: PinJob): Promise<void> {
  await db
    .updateTable("service.upload")
    .set({ pin_due_at: sql<Date>`clock_timestamp() + ${claimSeconds} * interval '1 second'` })
    .where("id", "=", job.id)
    .where("pin_state", "=", "queued")
    .where("pin_attempts", "=", job.attempts)
    .execute();
}

/** Every upload of the same content is pinned with it. */
export async function pinDone(db: Kysely<Database>, cid: string): Promise<void> {
  await db
    .updateTable("service.upload")
    .set({ pin_state: "pinned", pin_error: null, pinned_at: sql<Date>`clock_timestamp()` })
    .where("cid", "=", cid)
    .where("pin_state", "!=", "pinned")
    .execute();
}

export async function pinLater(db: Kysely<Database>, job: PinJob, error: string, waitMs: number): Promise<void> {
  await db
    .updateTable("service.upload")
    .set({
      pin_error: error.slice(0, 1_000),
      pin_due_at: sql<Date>`clock_timestamp() + ${waitMs} * interval '1 millisecond'`,
    })
    .where("id", "=", job.id)
    .where("pin_state", "=", "queued")
    .execute();
}

export async function pinFailed(db: Kysely<Database>, job: PinJob, error: string): Promise<void> {
  await db
    .updateTable("service.upload")
    .set({ pin_state: "failed", pin_error: error.slice(0, 1_000) })
    .where("id", "=", job.id)
    .where("pin_state", "=", "queued")
    .execute();
}
