import { MintyardError } from "./error.ts";

export interface RepeatOptions {
  /** Ends the waiting; the promise is rejected with its reason. */
  signal?: AbortSignal | undefined;
  /** After this long the last failure is thrown; five minutes by default. */
  timeoutMs?: number | undefined;
  /** Between two tries where the service does not say how long; two seconds by default. */
  pauseMs?: number | undefined;
  /** Is called before each pause, with the failure that is waited out. */
  onWait?: ((failure: MintyardError) => void) | undefined;
}

/** Codes of what passes without a change of the request. */
const passing: ReadonlySet<string> = new Set([
  ...["service_unavailable", "read_timeout", "read_not_begun", "request_timeout"],
  ...["too_many_requests", "rate_limit_exceeded", "no_answer"],
]);

/** Whether a failure passes without a change of the request. */
export function isPassing(error: unknown): error is MintyardError {
  return error instanceof MintyardError && passing.has(error.code);
}

/** A new key for one request: 32 hex digits. Keep it as long as you may have to send the request again. */
export function idempotencyKey(): string {
  // Not randomUUID: pages without TLS have none.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Runs a request again while the service says "later" (503, 429) or does not answer. It waits as long as `Retry-After` says, else longer
 * from try to try. A request that changes something needs an idempotency key.
 *
 * @param alsoWhile further failures that pass.
 * @throws what the request throws: at once where it does not pass, else when the next try would be after `timeoutMs`.
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

/** @throws the reason of the signal when it ends the waiting. */
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
