const [minute, hour, day] = [60, 3_600, 86_400];

/** Pauses between the ten tries of a message, in seconds: 75 h 35 min and 5 s in all. Source: Standard Webhooks, "Retry schedule". */
const pauses = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour] as const;
/** Messages that failed together need not all come back together. */
export const jitter = 0.1;
/** An endpoint that answered nothing well for so long is disabled. */
export const disabledAfterSeconds = 5 * day;

/** Pauses after challenges that a new endpoint does not answer, in seconds. Then it is sent none until its owner asks. */
export const challengePauses = [10, minute, 10 * minute, hour] as const;
export const mostChallenges = challengePauses.length + 1;
/** Challenges of an account in a day, for each endpoint that its plan has: also of those that are made and deleted again. */
export const challengesOfEndpoint = 10;

/**
 * When to try again.
 *
 * @param attempts how often it was tried, this time included.
 * @param retryAfterSeconds what the server asked for.
 * @returns seconds from now; null after the last try.
 */
export function pauseAfter(attempts: number, retryAfterSeconds: number | null, random = Math.random): number | null {
  const pause = pauses[attempts - 1];
  if (pause === undefined) return null;
  const own = pause * (1 + jitter * random());
  return Math.max(own, retryAfterSeconds ?? 0);
}

/** Until the plan's messages of a day are looked at again, in seconds: the plan may change before the next day (UTC). */
export function untilMorning(): number {
  return Math.min(600, day - ((Date.now() / 1_000) % day) + 1);
}
