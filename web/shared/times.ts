const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/**
 * A relative time: `3 hours ago`, `in 2 days`.
 *
 * @param at and `now`: Unix milliseconds.
 */
export function relativeTime(at: number, now = Date.now()): string {
  const seconds = Math.round((at - now) / 1_000);
  const [unit, size] = units.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  if (unit === "second" && Math.abs(seconds) < 10) return "now";
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" }).format(Math.trunc(seconds / size), unit);
}

/** In the visitor's time zone. @param at Unix milliseconds. */
export function exactTime(at: number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}
