import { FairQueue } from "./fair-queue.ts";

interface Turn {
  /** The account that the work belongs to: accounts take turns. Absent: first come, first served. */
  account?: string;
  /** Ends the wait for a slot, but not work that already has one. */
  signal?: AbortSignal | undefined;
}

/** Bounds the number of jobs that run at a time; the others wait for a slot. */
export class Slots {
  /** Number of slots. If it is lowered, running jobs still finish, and those that wait already run after them. */
  most: number;
  readonly #waiting = new FairQueue<() => void>(Number.MAX_SAFE_INTEGER);
  #running = 0;

  constructor(most: number) {
    this.most = most;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get areTaken(): boolean {
    return this.#running >= this.most;
  }

  /** Runs a job in a slot. @throws what `take` and the job throw. */
  async run<T>(work: () => Promise<T>, turn: Turn = {}): Promise<T> {
    const leave = await this.take(turn);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** @returns a function that frees the slot, to be called once. @throws the signal's reason if it aborts first. */
  async take({ account = "", signal }: Turn = {}): Promise<() => void> {
    if (this.areTaken) await this.#wait(account, signal);
    else this.#running += 1;
    return () => this.#leave();
  }

  #wait(account: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    return new Promise((done, failed) => {
      const go = () => {
        signal?.removeEventListener("abort", giveUp);
        done();
      };
      const giveUp = () => {
        this.#waiting.remove(account, go);
        failed(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#waiting.push(account, go);
    });
  }

  #leave(): void {
    // The slot is passed on without becoming free in between.
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
