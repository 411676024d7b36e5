/** Ponder gives up a request after ten seconds and repeats it within half a minute. */
const keptMs = 60_000;

interface Work<T> {
  result: Promise<T>;
  end: AbortController;
  waiting: number;
  forget: NodeJS.Timeout | undefined;
}

/**
 * Work for several callers. It continues for a minute after all have left, and its result is kept as long, for a caller
 * that gives up and asks again: if it restarted each time, it would never finish with slow nodes.
 */
export class SharedWork<T> {
  readonly #running = new Map<string, Work<T>>();
  readonly #keptMs: number;

  constructor(afterMs = keptMs) {
    this.#keptMs = afterMs;
  }

  /** @param run starts the work unless it is already running; its signal is not the caller's. */
  async join(key: string, run: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const work = this.#running.get(key) ?? this.#start(key, run);
    work.waiting += 1;
    clearTimeout(work.forget);
    try {
      return await orAbandoned(work.result, signal);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) this.#leave(key, work, signal?.aborted === true);
    }
  }

  #start(key: string, run: (signal: AbortSignal) => Promise<T>): Work<T> {
    const end = new AbortController();
    const work: Work<T> = { result: run(end.signal), end, waiting: 0, forget: undefined };
    work.result.catch(() => this.#drop(key, work));
    this.#running.set(key, work);
    return work;
  }

  #leave(key: string, work: Work<T>, abandoned: boolean): void {
    if (abandoned) work.forget = setTimeout(() => this.#drop(key, work), this.#keptMs).unref();
    else this.#drop(key, work);
  }

  #drop(key: string, work: Work<T>): void {
    if (this.#running.get(key) === work) this.#running.delete(key);
    work.end.abort();
  }
}

/** @throws the signal's reason as soon as it aborts; the work itself goes on. */
export function orAbandoned<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((done, failed) => {
    const leave = () => failed(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    work.then(done, failed).finally(() => signal.removeEventListener("abort", leave));
  });
}
