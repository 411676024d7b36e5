const [minute, hour, day] = [60, 3_600, 86_400];

/** Seconds between the ten tries of a message, 75 h 35 min 5 s in all. Source: Standard Webhooks, "Retry schedule". */
const pauses = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour] as const;
/** Spreads the retries of messages that failed at the same time. */
export const jitter = 0.1;
/** An endpoint without a success for this long is disabled. */
export const disabledAfterSeconds = 5 * day;

/** Pauses in seconds after unanswered challenges of a new endpoint. Then none is sent until its owner asks. */
export const challengePauses = [10, minute, 10 * minute, hour] as const;
export const mostChallenges = challengePauses.length + 1;
/** An account's challenges per day for each endpoint that its plan includes. Endpoints that were deleted count too. */
export const challengesOfEndpoint = 10;

/**
 * When to try again.
 *
 * @param attempts number of tries, including this one.
 * @param retryAfterSeconds the server's `Retry-After`.
 * @returns seconds from now; null after the last try.
 */
export function pauseAfter(attempts: number, retryAfterSeconds: number | null, random = Math.random): number | null {
  const pause = pauses[attempts - 1];
  if (pause === undefined) return null;
  const own = pause * (1 + jitter * random());
  return Math.max(own, retryAfterSeconds ?? 0);
}

/** Seconds until the plan's daily messages are checked again. The plan may change before the next day (UTC). */
export function untilMorning(): number {
  return Math.min(600, day - ((Date.now() / 1_000) % day) + 1);
}
