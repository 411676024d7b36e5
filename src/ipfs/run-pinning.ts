import { type Kysely, type SqlBool, sql } from "kysely";
import { backoffMs } from "../backoff.ts";
import type { Database } from "../db/database.ts";
import { claimRows, dueRows, inSeconds, isHeld, renewLease, type WorkQueue } from "../db/lease.ts";
import type { Next, Rounds } from "../rounds.ts";
import { causeOf } from "../telemetry/log-once.ts";
import type { ContentContext, PinDriver } from "./context.ts";

const pace = { periodMs: 1_000, rests: true };
const retryPause = { firstMs: 5_000, mostMs: 3_600_000 };

/**
 * Passes uploads on to the remote pinning service until the signal aborts; several workers share the queue. Returns at
 * once if no service is configured. A running upload is abandoned when the signal aborts, and claimed again later.
 */
export async function runPinning(services: ContentContext, rounds: Rounds): Promise<void> {
  const { config, log } = services;
  const { pinata, kubo } = config.ipfs;
  const driver = pinata
    ? (await import("./pinata.ts")).createPinata(pinata)
    : kubo && (await import("./kubo.ts")).createKubo(kubo);
  if (!driver) return;
  const stopped = new Promise<Next>((done) => {
    if (rounds.signal.aborted) done("rest");
    rounds.signal.addEventListener("abort", () => done("rest"), { once: true });
  });
  const round = async () => await Promise.race([pinNext(services, driver), stopped]);
  // The database is away; the claim expires by itself.
  await rounds.repeat(round, pace, { log, failing: "the pin queue cannot be reached" });
}

async function pinNext(services: ContentContext, driver: PinDriver): Promise<Next> {
  const job = await claimPin(services.db);
  if (!job) return "rest";
  await pinOne(services, driver, job);
  return "again";
}

async function pinOne({ db, log, logOnce, content }: ContentContext, driver: PinDriver, job: PinJob): Promise<void> {
  const { cid, attempts } = job;
  const context = { cid, attempts, driver: driver.name };
  // An upload may take longer than a claim lasts; a worker that dies stops renewing it.
  const renewal = setInterval(() => void keepClaim(db, job).catch(() => undefined), claimSeconds * 300);
  let stored: string;
  try {
    stored = await content.withCar(job.file, (car) => driver.pin(cid, car, () => content.readDirectory(cid)));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (isFinal(error)) {
      log.error({ ...context, err: error }, "a pin was refused");
      return await pinFailed(db, job, message);
    }
    const waitMs = backoffMs(attempts, retryPause);
    logOnce.write("warn", `pin ${causeOf(error)}`, { ...context, waitMs, err: error }, "a pin is tried again later");
    return await pinLater(db, job, message, waitMs);
  } finally {
    clearInterval(renewal);
  }
  if (stored !== cid) {
    // Under another CID nobody who looks for the content finds it. That is worse than no pin, since it looks like one.
    log.error({ ...context, stored }, "the pinning service stored another root");
    return await pinFailed(db, job, `${driver.name} stored the root ${stored} instead of ${cid}`);
  }
  await pinDone(db, cid);
  log.info(context, "pinned");
}

/**
 * Whether the same bytes would get the same answer again. That does not hold for a wrong key, a wrong path or a full
 * account, which the operator can fix; nor for a resumable upload that the service lost (404, 409, 410, 423).
 */
function isFinal(error: unknown): boolean {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === "number" && [400, 413, 415, 422].includes(status);
}

export interface PinJob {
  id: string;
  cid: string;
  /** The CAR's file id. */
  file: string;
  /** Including the present one. */
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

/** Claims the upload that has waited longest; no other worker gets it for a quarter of an hour. */
export async function claimPin(db: Kysely<Database>): Promise<PinJob | null> {
  const columns = sql`m.id, m.cid, m.car_id, m.pin_attempts`;
  const { rows } = await sql<PinJob>`
    WITH claimed AS (${claimRows(queue, dueRows(queue, 1), { seconds: claimSeconds }, columns)})
    SELECT u.id, u.cid, car.file, u.pin_attempts AS attempts
    FROM claimed AS u JOIN service.car AS car ON car.id = u.car_id`.execute(db);
  return rows[0] ?? null;
}

/** Renews the claim of the worker that is still uploading. */
export async function keepClaim(db: Kysely<Database>, job: PinJob): Promise<void> {
  await renewLease(db, queue, heldRow(job), claimSeconds);
}

/** Marks every upload of the same content as pinned. */
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
