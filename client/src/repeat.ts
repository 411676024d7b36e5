import { MintyardError } from "./error.ts";

export interface RepeatOptions {
  /** Stops waiting; the promise is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** After so long the last failure is thrown; five minutes by default. */
  timeoutMs?: number | undefined;
  /** Pause between two tries if the service does not say how long; two seconds by default. */
  pauseMs?: number | undefined;
  /** Called before each pause, with the failure that caused it. */
  onWait?: ((failure: MintyardError) => void) | undefined;
}

/** Codes of temporary failures, after which the same request may succeed. */
const passing: ReadonlySet<string> = new Set([
  ...["service_unavailable", "read_timeout", "read_not_begun", "request_timeout"],
  ...["too_many_requests", "rate_limit_exceeded", "no_answer"],
]);

/** Whether a failure is temporary, so that the same request may succeed later. */
export function isPassing(error: unknown): error is MintyardError {
  return error instanceof MintyardError && passing.has(error.code);
}

/** A new key for one request: 32 hex digits. Store it for as long as you may have to repeat the request. */
export function idempotencyKey(): string {
  // Not randomUUID, which pages without TLS do not have.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Repeats a request while the service says "later" (503, 429) or does not answer. It waits as long as `Retry-After`
 * says, otherwise longer after each try. A request that changes something needs an idempotency key.
 *
 * @param alsoWhile further temporary failures.
 * @throws the request's error: at once if it is not temporary, otherwise when the next try would come after
 * `timeoutMs`.
 */
export async function repeatWhileUnavailable<T>(
  run: () => Promise<T>,
  { signal, timeoutMs = 300_000, pauseMs = 2_000, onWait }: RepeatOptions = {},
  alsoWhile: (error: MintyardError) => boolean = () => false,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (let pause = pauseMs; ; pause = Math.min(pause * 1.5, 15_000)) {
    signal?.throwIfAborted();
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof MintyardError)) throw error;
      const wait = error.retryAfterMs ?? pause;
      const passes = isPassing(error) || alsoWhile(error);
      if (!passes || Date.now() + wait > end) throw error;
      onWait?.(error);
      await sleep(wait, signal);
    }
  }
}

/** @throws the signal's reason when the signal ends the wait. */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((done) => {
    const timer = setTimeout(end, ms);
    function end() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      done();
    }
    signal?.addEventListener("abort", end);
  });
  signal?.throwIfAborted();
}
