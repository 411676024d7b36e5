/** Those who wait for their turn, first come first; who gives up leaves the line. */
class Line {
  readonly #waiting = new Set<() => void>();

  get length(): number {
    return this.#waiting.size;
  }

  /** Resolves at its turn. @throws the signal's reason when that aborts before. */
  wait(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((done, failed) => {
      const go = () => {
        signal?.removeEventListener("abort", leave);
        done();
      };
      const leave = () => {
        this.#waiting.delete(go);
        failed(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.add(go);
    });
  }

  /** It is the turn of the first. */
  next(): void {
    const [first] = this.#waiting;
    if (!first) return;
    this.#waiting.delete(first);
    first();
  }
}

/** At most `limit` calls at a time; the others wait in line. */
export function turns(limit: number): <T>(run: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const line = new Line();
  let running = 0;
  return async (run, signal) => {
    if (running < limit) running += 1;
    else await line.wait(signal);
    try {
      return await run();
    } finally {
      // The next one takes its place, or nobody has it.
      if (line.length > 0) line.next();
      else running -= 1;
    }
  };
}

/** Lets through at most so many calls a second, in order; 0 is no limit. */
export function rateLimit(perSecond: number): <T>(run: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const line = new Line();
  const gapMs = 1_000 / perSecond;
  let timer: NodeJS.Timeout | null = null;
  let next = 0;
  const serve = () => {
    timer = null;
    for (; line.length > 0 && Date.now() >= next; next += gapMs) line.next();
    if (line.length > 0) timer = setTimeout(serve, next - Date.now());
  };
  return async (run, signal) => {
    if (perSecond === 0) return run();
    const now = Date.now();
    if (line.length === 0 && now >= next) next = now + gapMs;
    else {
      const turn = line.wait(signal);
      if (timer === null) timer = setTimeout(serve, next - now);
      await turn;
    }
    return run();
  };
}
