import type pg from "pg";
import type { Logger } from "../../telemetry/log.ts";
import { withConnection } from "../connection.ts";

/**
 * Clocks that differ by more are reported as wrong. The service's decisions follow the database's clock and blocks.
 * Timestamps in its logs, validity of certificates, and ages shown to people follow this machine's clock.
 */
export const clockToleranceSeconds = 60;

/** @returns by how many seconds this machine's clock is ahead of the database's, less the query's duration. */
export async function readClockLead(client: Pick<pg.ClientBase, "query">): Promise<number> {
  const askedAt = Date.now();
  const { rows } = await client.query<{ now: number }>("SELECT extract(epoch FROM clock_timestamp())::float8 AS now");
  return clockLead(rows[0]?.now ?? Number.NaN, askedAt, Date.now());
}

/** @param databaseSeconds the database's clock at a moment between the two others, in ms of this machine's clock. */
export function clockLead(databaseSeconds: number, askedAt: number, answeredAt: number): number {
  // The database read its clock at an unknown moment in between, so a difference within that interval counts as none.
  const [early, late] = [askedAt / 1_000 - databaseSeconds, answeredAt / 1_000 - databaseSeconds];
  return early <= 0 && late >= 0 ? 0 : Math.round(early > 0 ? early : late);
}

/** Describes how the clocks differ; null while they agree. */
export function clockTrouble(leadSeconds: number): string | null {
  if (Math.abs(leadSeconds) <= clockToleranceSeconds) return null;
  const difference = `${Math.abs(leadSeconds)} s ${leadSeconds > 0 ? "ahead of" : "behind"}`;
  return `this machine's clock is ${difference} that of PostgreSQL in DATABASE_URL`;
}

export const clockAction =
  "have both machines' clocks set by NTP (timedatectl set-ntp true), then restart the processes";

/** Logged at each start; nothing else depends on it. */
export async function warnOfClock(databaseUrl: string, log: Logger): Promise<void> {
  const trouble = clockTrouble(await withConnection(databaseUrl, "clock", readClockLead));
  if (trouble) log.warn(`${trouble}: ${clockAction}`);
}
