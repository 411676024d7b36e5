import { setTimeout as sleep } from "node:timers/promises";

/**
 * How many times slower than a quiet machine this one is; the runner measures it and says so.
 *
 * @returns eighths: of a whole number of seconds they are whole milliseconds, and Node's timeouts take no others.
 */
export function readSlowness(text: string | undefined): number {
  return Math.max(8, Math.ceil((Number(text) || 1) * 8)) / 8;
}

/** As measured before the first test: for what the product promises within a time. */
export const measuredSlowness = readSlowness(process.env["MINTYARD_TEST_SLOWNESS"]);

/** The same with files that run beside one another, each with its own processes: for what only bounds a hang. */
export const slowness = 3 * measuredSlowness;

/**
 * For `expect.poll`, instead of its one second: a bound for a condition that has to come true, so that a hang ends with
 * what was seen last. It promises no speed. What takes a second on a quiet machine takes twenty on one that does five
 * other things, and a bound near the usual time fails for that alone.
 */
export const patient = { timeout: 150_000 * slowness };

interface Waiting<T> {
  /** True when it has come; without it, when what is seen is truthy. */
  until?: (seen: T) => boolean;
  /** What processes said, shown when it does not come. */
  lines?: () => readonly string[];
  /** On a quiet machine; the default is `patient`'s. */
  withinMs?: number;
}

/**
 * Looks again and again until what is waited for has come: at once, then after pauses that grow to a quarter of a second.
 *
 * @param what completes "waited in vain for".
 * @returns what was seen then.
 * @throws Error with what was seen last and the last 40 lines; what `look` throws.
 */
export async function wait<T>(what: string, look: () => T | Promise<T>, waiting: Waiting<T> = {}): Promise<T> {
  const { until = Boolean, lines, withinMs } = waiting;
  const end = performance.now() + (withinMs === undefined ? patient.timeout : withinMs * slowness);
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.5, 250)) {
    const seen = await look();
    if (until(seen)) return seen;
    if (performance.now() > end) throw new Error(complaint(what, seen, lines?.() ?? []));
    await sleep(pauseMs);
  }
}

function complaint(what: string, seen: unknown, lines: readonly string[]): string {
  const text = JSON.stringify(seen, (_name, part) => (typeof part === "bigint" ? String(part) : part));
  return [`waited in vain for ${what}; seen last: ${text}`, ...lines.slice(-40)].join("\n");
}
