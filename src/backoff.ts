/** How the pauses between tries grow. */
export interface Backoff {
  /** After the first failure. */
  firstMs: number;
  /** Upper bound, however many failures there were. */
  mostMs: number;
  /** Factor between two consecutive pauses; 2 unless given. */
  factor?: number;
  /** Share of the pause to add or subtract at random, so that retries do not coincide; 0 unless given. */
  jitter?: number;
}

/**
 * The pause before the next try: exponential, with an upper bound.
 *
 * @param failures in a row, including the last; less than one counts as one.
 * @returns milliseconds. Jitter is applied last, so the pause may be longer than `mostMs`.
 */
export function backoffMs(failures: number, { firstMs, mostMs, factor = 2, jitter = 0 }: Backoff): number {
  const pauseMs = Math.min(firstMs * factor ** (Math.max(failures, 1) - 1), mostMs);
  return jitter === 0 ? pauseMs : pauseMs * (1 - jitter + 2 * jitter * Math.random());
}
