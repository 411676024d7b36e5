import { FairQueue } from "./fair-queue.ts";

interface Turn {
  /** Whose work it is: accounts take turns. Absent: first come, first served. */
  account?: string;
  /** Ends the wait for a slot; work that has one is not ended by it. */
  signal?: AbortSignal | undefined;
}

/** A bounded number of works at a time; the others wait for a slot. */
export class Slots {
  /** How many there are. Where it is lowered, works that are under way end, and those that wait already follow them. */
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

  /** Runs a work in a slot. @throws what `take` and the work throw. */
  async run<T>(work: () => Promise<T>, turn: Turn = {}): Promise<T> {
    const leave = await this.take(turn);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** @returns what gives the slot back, to be called once. @throws the signal's reason when that aborts before the turn. */
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
    // The slot passes on without becoming free in between.
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
  }
}
