/** How the pauses between tries grow. */
export interface Backoff {
  /** After the first failure. */
  firstMs: number;
  /** However many failures there were. */
  mostMs: number;
  /** How many times as long each pause is as the one before; 2 unless given. */
  factor?: number;
  /** Part of the pause by which it is longer or shorter at random, for those that fail together; 0 unless given. */
  jitter?: number;
}

/**
 * The pause before the next try: exponential, with an upper bound.
 *
 * @param failures in a row, the last one included; less than one counts as one.
 * @returns milliseconds. The jitter is applied last: with it the pause may be longer than `mostMs`.
 */
export function backoffMs(failures: number, { firstMs, mostMs, factor = 2, jitter = 0 }: Backoff): number {
  const pauseMs = Math.min(firstMs * factor ** (Math.max(failures, 1) - 1), mostMs);
  return jitter === 0 ? pauseMs : pauseMs * (1 - jitter + 2 * jitter * Math.random());
}
