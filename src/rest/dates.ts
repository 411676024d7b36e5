/** Dates of the legacy answers: UTC without offset and without `Z`. */

/** Block times and mint starts: `2022-07-12T11:30:48`. */
export function naiveSeconds(unixSeconds: bigint): string {
  return new Date(Number(unixSeconds) * 1000).toISOString().slice(0, 19);
}

/** Server times: `2022-07-12T21:26:37.388951`. */
export function naiveMicros(unixMicros: bigint): string {
  const micros = String(unixMicros % 1_000_000n).padStart(6, "0");
  return `${naiveSeconds(unixMicros / 1_000_000n)}.${micros}`;
}
