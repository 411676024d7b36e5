import { type Kysely, type SqlBool, sql } from "kysely";
import type { Database } from "../db/database.ts";
import { claimRows, dueRows, inSeconds, isHeld, renewLease, type WorkQueue } from "../db/lease.ts";

export interface PinJob {
  id: string;
  cid: string;
  /** The CAR's file. */
  file: string;
  /** This one included. */
  attempts: number;
}

export const claimSeconds = 900;

const queue: WorkQueue = {
  table: "service.upload",
  key: ["id"],
  open: sql<SqlBool>`pin_state = 'queued'`,
  due: "pin_due_at",
  attempts: "pin_attempts",
};

/** Takes the upload that waits longest; no other worker gets it for a quarter of an hour. */
export async function claimPin(db: Kysely<Database>): Promise<PinJob | null> {
  const columns = sql`m.id, m.cid, m.car_id, m.pin_attempts`;
  const { rows } = await sql<PinJob>`
    WITH claimed AS (${claimRows(queue, dueRows(queue, 1), { seconds: claimSeconds }, columns)})
    SELECT u.id, u.cid, car.file, u.pin_attempts AS attempts
    FROM claimed AS u JOIN service.car AS car ON car.id = u.car_id`.execute(db);
  return rows[0] ?? null;
}

/** Says that the worker which claimed this upload is still at it. */
export async function keepClaim(db: Kysely<Database>, job: PinJob): Promise<void> {
  await renewLease(db, queue, heldRow(job), claimSeconds);
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
    .set({ pin_error: error.slice(0, 1_000), pin_due_at: inSeconds(waitMs / 1_000) })
    .where(isHeld(queue, heldRow(job)))
    .execute();
}

export async function pinFailed(db: Kysely<Database>, job: PinJob, error: string): Promise<void> {
  await db
    .updateTable("service.upload")
    .set({ pin_state: "failed", pin_error: error.slice(0, 1_000) })
    .where(isHeld(queue, heldRow(job)))
    .execute();
}

function heldRow({ id, attempts }: PinJob) {
  return { key: [id], lease: attempts };
}
