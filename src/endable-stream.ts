import { setTimeout as sleep } from "node:timers/promises";

/**
 * A stream that ends as soon as its reader leaves, even while the reader waits for the next value. A plain generator
 * sees `return` only at its next `yield`, so one that polls for a change would go on polling without a reader.
 *
 * @param produce stops soon after its signal is aborted, without throwing because of that.
 * @param onEnd runs once, however the stream ends, even if it was never read.
 */
export function endableStream<T>(
  produce: (signal: AbortSignal) => AsyncGenerator<T, void>,
  onEnd: () => void,
): AsyncGenerator<T, void> {
  const leaving = new AbortController();
  const values = produce(leaving.signal);
  const done = { done: true, value: undefined } as const;
  const end = () => {
    leaving.abort();
    onEnd();
  };
  const stream: AsyncGenerator<T, void> = {
    [Symbol.asyncIterator]: () => stream,
    [Symbol.asyncDispose]: async () => {
      await stream.return();
    },
    next: async () => {
      if (leaving.signal.aborted) return done;
      try {
        const result = await values.next();
        if (result.done) end();
        return leaving.signal.aborted ? done : result;
      } catch (error) {
        end();
        throw error;
      }
    },
    return: async () => {
      end();
      // `return` waits for the step under way; the reader that leaves does not.
      values.return().catch(() => undefined);
      return done;
    },
    throw: async (error) => {
      end();
      throw error;
    },
  };
  return stream;
}

const watchMs = 30 * 60_000;

interface Watching<T> {
  /** Pause between two readings. */
  pollMs: number;
  /** Whether nothing has changed that a reader would see. */
  isSame(one: T, other: T): boolean;
  isLast?(value: T): boolean;
}

/**
 * A value now and after each change, until the last value, half an hour has passed, or the reader leaves.
 *
 * @param onEnd as in `endableStream`.
 */
export function watchChanges<T>(
  first: T,
  read: () => Promise<T>,
  { pollMs, isSame, isLast = () => false }: Watching<T>,
  onEnd: () => void,
): AsyncGenerator<T, void> {
  return endableStream(async function* (signal) {
    const end = performance.now() + watchMs;
    let seen = first;
    yield seen;
    while (!isLast(seen) && performance.now() < end) {
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const now = await read();
      if (isSame(now, seen)) continue;
      seen = now;
      yield seen;
    }
  }, onEnd);
}
