import { FairQueue } from "./fair-queue.ts";

/** So long a piece of work has the event loop. */
const sliceMs = 3;

/** Of a process, which has one event loop. */
const waiting = new FairQueue<() => void>(Number.MAX_SAFE_INTEGER);
let scheduled = false;
/** How long short reads that are under way come first. */
let yieldsUntil = 0;

/** Reads of the fast path that the database has been asked for: what takes long lets them go first. */
export const shortReads = { underWay: 0 };

/**
 * Waits for a turn of the event loop for what takes long: one piece of it in each turn, however much there is, and
 * accounts take turns. While short reads are under way, a piece is followed by a pause of its own length, so that each kind
 * gets half of the loop.
 */
export async function turnOf(account: string): Promise<void> {
  await new Promise<void>((resume) => {
    waiting.push(account, resume);
    schedule();
  });
}

function schedule(): void {
  if (scheduled || waiting.length === 0) return;
  scheduled = true;
  // Timers come right after what reads ask of the database was sent, so that it works meanwhile.
  const gives = shortReads.underWay > 0;
  const later = (run: () => void) => (gives ? setTimeout(run, 1) : setImmediate(run));
  let begunAt = 0;
  later(() => {
    const now = performance.now();
    if (shortReads.underWay > 0 && (!gives || now < yieldsUntil)) return;
    begunAt = now;
    waiting.shift()?.();
  });
  // In the same turn, and after what was resumed has come to its next wait.
  later(() => {
    const now = performance.now();
    if (begunAt > 0) yieldsUntil = now + (now - begunAt);
    scheduled = false;
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
    await turnOf(this.account);
    this.#endsAt = performance.now() + sliceMs;
    this.#before = process.threadCpuUsage();
  }

  /** As `rest`, when the slice is over. */
  async pause(): Promise<void> {
    if (this.isOver) await this.rest();
  }
}
