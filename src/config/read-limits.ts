import { type Env, positive, read } from "./values.ts";

/** Milliseconds that reads of the index may take, the wait for a connection included. */
export interface ReadLimits {
  read: number;
  /** Statistics, lists of owners and holders, summaries of traits, search. */
  report: number;
}

export const usualReadLimits: ReadLimits = { read: 2_000, report: 5_000 };

/** @throws ConfigError */
export function loadReadLimits(env: Env): ReadLimits {
  return {
    read: read(env, "READ_TIMEOUT_MS", positive, usualReadLimits.read),
    report: read(env, "REPORT_TIMEOUT_MS", positive, usualReadLimits.report),
  };
}
