import { LRUCache } from "lru-cache";
import type { Logger } from "./log.ts";

const minuteMs = 60_000;
/** Causes that are remembered. Beyond that, the least recent one is forgotten, and logged again when it recurs. */
const maxCauses = 200;

/** What errors of one cause have in common: their code, or their text without numbers, hashes and ids. */
export function causeOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === "string" && code !== "") return code;
  return String(message ?? error)
    .replaceAll(/0x[0-9a-f]+|[0-9a-f-]{36}|\d+/gi, "#")
    .slice(0, 120);
}

/**
 * Logs each cause at most once a minute. While a node is away every request to it fails, and the same line a thousand
 * times would hide all others.
 *
 * @param now milliseconds; for tests.
 */
export class LogOnce {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #causes = new LRUCache<string, { writtenAt: number; unwritten: number }>({ max: maxCauses });

  constructor(log: Logger, now: () => number = Date.now) {
    this.#log = log;
    this.#now = now;
  }

  /**
   * @param cause what two lines have in common to count as the same.
   * @param fields logged along with `repeated`: how often the cause recurred since its last line.
   */
  write(level: "info" | "warn" | "error", cause: string, fields: Record<string, unknown>, message: string): void {
    const known = this.#causes.get(cause);
    if (known && this.#now() - known.writtenAt < minuteMs) {
      known.unwritten += 1;
      return;
    }
    this.#causes.set(cause, { writtenAt: this.#now(), unwritten: 0 });
    this.#log[level](known?.unwritten ? { ...fields, repeated: known.unwritten } : fields, message);
  }
}
