import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { Gauge } from "prom-client";
import type { Database } from "../db/database.ts";
import { claimRows, dueRows, type WorkQueue } from "../db/lease.ts";
import type { Next, Rounds } from "../rounds.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { ContentContext } from "./context.ts";
import type { StoredCar } from "./verify-car.ts";

const pollMs = 30_000;

/**
 * Reads all stored content again and again, slowly, until the signal aborts, so that damage is noticed before the last
 * good copy elsewhere is gone. At most `IPFS_CHECK_BYTES_PER_SECOND` in this process; 0 switches it off.
 */
export async function runChecks(services: ContentContext, rounds: Rounds): Promise<void> {
  const { log, config } = services;
  if (config.ipfs.check.bytesPerSecond === 0) return;
  const failing = "stored content could not be checked; it is tried again";
  await rounds.repeat(() => checkNext(services, rounds.signal), { periodMs: pollMs }, { log, failing });
}

async function checkNext({ db, log, content, config }: ContentContext, signal: AbortSignal): Promise<Next> {
  const { bytesPerSecond, days } = config.ipfs.check;
  const car = await claimCheck(db, bytesPerSecond);
  if (!car) return "rest";
  // Rejects when the signal aborts: this check stops, and is due again when its claim expires.
  const pace = async (bytes: number) => await sleep((bytes * 1_000) / bytesPerSecond, undefined, { signal });
  const damage = await content.verify(car, pace);
  await recordCheck(db, car, damage, days);
  if (damage !== null) log.error({ root: car.root, file: car.file, damage }, "stored content is damaged");
  return "again";
}

/** Reports how many of the stored CARs were damaged at their last check. */
export function watchContent({ registry }: Metrics, { db }: ContentContext): void {
  new Gauge({
    name: "mintyard_damaged_content",
    help: "Stored CARs that were damaged or missing when they were read last; see mintyard doctor.",
    registers: [registry],
    async collect() {
      const health = await readContentHealth(db).catch(() => null);
      // Without data the metric must not report that all is well.
      if (health) this.set(health.damaged);
      else this.reset();
    },
  });
}

/** A check writes its result for the file that it read, whichever process has the claim (`recordCheck`). */
const queue: WorkQueue = { table: "service.car", key: ["id"], due: "check_after" };

/**
 * Claims the stored CAR whose check has been due longest. No other process gets it for twice the time that a check
 * takes at this rate, and ten minutes more; after that its worker counts as dead.
 */
async function claimCheck(db: Kysely<Database>, bytesPerSecond: number): Promise<StoredCar | null> {
  const seconds = sql`(600 + 2 * m.size / ${bytesPerSecond}::bigint)`;
  const columns = sql`m.id, m.root, m.file, m.size`;
  const { rows } = await claimRows<StoredCar>(queue, dueRows(queue, 1), { seconds }, columns).execute(db);
  return rows[0] ?? null;
}

/** Records the result of a check. A file that was replaced in the meantime is not changed. */
async function recordCheck(
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
  /** A few of the damaged CARs. */
  samples: { root: string; file: string; damage: string }[];
}

/** The results of the checks of all stored content. */
export async function readContentHealth(db: Kysely<Database>): Promise<ContentHealth> {
  const { rows } = await sql<ContentHealth>`
    SELECT count(*)::integer AS stored, count(checked_at)::integer AS checked, count(damage)::integer AS damaged,
      (SELECT coalesce(json_agg(example), '[]') FROM (
        SELECT root, file, damage FROM service.car WHERE damage IS NOT NULL ORDER BY id LIMIT 3) example) AS samples
    FROM service.car`.execute(db);
  return rows[0] ?? { stored: 0, checked: 0, damaged: 0, samples: [] };
}
