/** Format of to_char: UTC without a zone, to microseconds. */
export const naive = 'YYYY-MM-DD"T"HH24:MI:SS.US';

/** @param seconds of Unix time. @returns as JavaScript writes a date: `2026-01-01T00:00:00.000Z`. */
export function toIso(seconds: string): string {
  return new Date(Number(seconds) * 1000).toISOString();
}

/** The same without parts of a second and without a zone, as /v0 writes it. */
export function toNaiveSeconds(seconds: string): string {
  return toIso(seconds).slice(0, 19);
}
