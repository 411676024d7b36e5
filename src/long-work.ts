import { FairQueue } from "./fair-queue.ts";

/** So long a piece of work has the event loop. */
const sliceMs = 3;

/** Of a process, which has one event loop. */
const waiting = new FairQueue<() => void>(Number.MAX_SAFE_INTEGER);
let scheduled = false;

/** One slice in each turn of the event loop, however much work there is: what has come meanwhile is answered in between. */
function schedule(): void {
  if (scheduled || waiting.length === 0) return;
  scheduled = true;
  setImmediate(() => {
    scheduled = false;
    waiting.shift()?.();
    schedule();
  });
}

/**
 * Work of one request that would hold the event loop for longer than others should wait. It does a part, asks whether its
 * slice is over, and waits for the next one; accounts take turns.
 */
export class LongWork {
  readonly account: string;
  #endsAt = performance.now() + sliceMs;
  #before = process.threadCpuUsage();

  constructor(account: string) {
    this.account = account;
  }

  /** Whether it has to rest before it goes on; costs little, so that it can be asked for each item of a list. */
  get isOver(): boolean {
    const now = performance.now();
    if (now < this.#endsAt) return false;
    // What it waited for, such as a disk or a machine that did something else, was no work.
    const { user, system } = process.threadCpuUsage(this.#before);
    const leftMs = sliceMs - (user + system) / 1_000;
    this.#endsAt = now + leftMs;
    return leftMs <= 0;
  }

  /** Waits for the next slice. */
  async rest(): Promise<void> {
    await new Promise<void>((resume) => {
      waiting.push(this.account, () => {
        this.#endsAt = performance.now() + sliceMs;
        this.#before = process.threadCpuUsage();
        resume();
      });
      schedule();
    });
  }

  /** As `rest`, when the slice is over. */
  async pause(): Promise<void> {
    if (this.isOver) await this.rest();
  }
}
