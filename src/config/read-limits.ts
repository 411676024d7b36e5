import { count, type Env, positive, read } from "./values.ts";

/** Milliseconds that reads of the index may take. */
export interface ReadLimits {
  read: number;
  /** Statistics, lists of owners and holders, summaries of traits, search. */
  report: number;
  /** That all reads of a request may wait for a connection; this time is no part of the others. */
  wait: number;
}

/** By plan, milliseconds of a minute that the heavy reads of one account may have of the database; null: no limit. */
export interface HeavyTimes {
  /** Also of whoever has no key, together. */
  free: number | null;
  growth: number | null;
  scale: number | null;
}

export const usualReadLimits: ReadLimits = { read: 2_000, report: 5_000, wait: 5_000 };

/** @throws ConfigError */
export function loadReadLimits(env: Env): ReadLimits {
  return {
    read: read(env, "READ_TIMEOUT_MS", positive, usualReadLimits.read),
    report: read(env, "REPORT_TIMEOUT_MS", positive, usualReadLimits.report),
    wait: read(env, "READ_WAIT_MS", positive, usualReadLimits.wait),
  };
}

/** @throws ConfigError */
export function loadHeavyTimes(env: Env): HeavyTimes {
  return {
    free: read(env, "HEAVY_READ_MS_FREE", count, 6_000) || null,
    growth: read(env, "HEAVY_READ_MS_GROWTH", count, 30_000) || null,
    scale: read(env, "HEAVY_READ_MS_SCALE", count, 60_000) || null,
  };
}
