import { setTimeout as sleep } from "node:timers/promises";

/**
 * A stream that ends as soon as its reader leaves, also while the reader waits for the next value. A generator by itself
 * hears of `return` only at its next `yield`, so one that polls for a change would poll on without a reader.
 *
 * @param produce stops soon after its signal is aborted, without an error of its own for that.
 * @param onEnd runs once, whichever way the stream ends, also when it was never read.
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
      // It waits for what is under way, and whoever leaves does not wait with it.
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
  /** Between two readings. */
  pollMs: number;
  /** Nothing that a reader would see has changed. */
  isSame(one: T, other: T): boolean;
  /** Nothing follows this one. */
  isLast?(value: T): boolean;
}

/**
 * A value now and after each change, until its last one, half an hour has passed, or nobody listens any more.
 *
 * @param onEnd as of `endableStream`.
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
