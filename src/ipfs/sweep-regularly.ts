import type { Logger } from "../telemetry/log.ts";
import type { ContentStore } from "./content-store.ts";

const everyMs = 600_000;

/**
 * Clears away what broken uploads left, now and from time to time: a process that runs for months meets many.
 *
 * @returns ends it.
 */
export function sweepRegularly(content: Pick<ContentStore, "sweep">, log: Logger, intervalMs = everyMs): () => void {
  const sweep = () =>
    void content.sweep().then(
      (files) => files > 0 && log.info({ files }, "cleared away what broken uploads left"),
      (error) => log.warn({ err: error }, "the store could not be swept"),
    );
  sweep();
  const timer = setInterval(sweep, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
