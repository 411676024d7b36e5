interface Permits {
  running: number;
  /** In the order of their arrival; each is called when the permit is its own. */
  waiting: Waiting[];
}

interface Waiting {
  go: () => void;
  since: number;
}

/** How many may wait for each one that runs; more are turned away at once. */
const waitingPerPermit = 16;

/**
 * Bounds how many uploads of one account a process works on. A further one waits: a launch kit that sends all its
 * files at once is served in order, and its bytes stay in its own network buffers until then.
 */
export class UploadPermits {
  readonly #accounts = new Map<string, Permits>();
  readonly #waitMs: number;

  constructor(waitMs = 20_000) {
    this.#waitMs = waitMs;
  }

  /** Uploads of all accounts: under way, waiting, and for how long the oldest has waited. */
  get load(): { running: number; waiting: number; oldestSeconds: number } {
    const load = { running: 0, waiting: 0, oldestSeconds: 0 };
    for (const { running, waiting } of this.#accounts.values()) {
      load.running += running;
      load.waiting += waiting.length;
      if (waiting[0]) load.oldestSeconds = Math.max(load.oldestSeconds, (performance.now() - waiting[0].since) / 1_000);
    }
    return load;
  }

  /** @returns what returns the permit; null when none was free in time, or too many wait already. */
  async take(account: string, most: number): Promise<(() => void) | null> {
    const permits = this.#accounts.get(account) ?? { running: 0, waiting: [] };
    this.#accounts.set(account, permits);
    if (permits.running >= most) {
      if (permits.waiting.length >= most * waitingPerPermit || !(await this.#wait(permits))) return null;
    } else permits.running += 1;
    return () => this.#leave(account, permits);
  }

  async #wait(permits: Permits): Promise<boolean> {
    return await new Promise((done) => {
      const go = () => {
        clearTimeout(timer);
        done(true);
      };
      const timer = setTimeout(() => {
        permits.waiting.splice(permits.waiting.indexOf(one), 1);
        done(false);
      }, this.#waitMs);
      const one = { go, since: performance.now() };
      permits.waiting.push(one);
    });
  }

  #leave(account: string, permits: Permits): void {
    // The permit passes on without becoming free in between.
    const next = permits.waiting.shift();
    if (next) next.go();
    else if (--permits.running === 0) this.#accounts.delete(account);
  }
}
