import { count, type Env, positive, read } from "./values.ts";

/** Time limits for reads of the index, in milliseconds. */
export interface ReadLimits {
  read: number;
  /** Statistics, lists of owners and holders, summaries of traits, search. */
  report: number;
  /** How long a request's reads may wait for a connection in total; not part of the other limits. */
  wait: number;
}

/** Milliseconds of database time per minute for one account's heavy reads, by plan; null: no limit. */
export interface HeavyTimes {
  /** Also the total of all clients without a key. */
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
