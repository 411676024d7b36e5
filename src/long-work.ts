import { FairQueue } from "./fair-queue.ts";

/** How long a piece of work may have the event loop. */
const sliceMs = 3;

/** One queue per process, which has one event loop. */
const waiting = new FairQueue<() => void>(Number.MAX_SAFE_INTEGER);
let scheduled = false;
/** Until when short reads under way come first. */
let yieldsUntil = 0;

/** Fast-path reads that are waiting for the database: long work lets them go first. */
export const shortReads = { underWay: 0 };

/**
 * Waits for a turn of the event loop for long work. Each turn runs one piece of work, however much is waiting, and
 * accounts take turns. While short reads are under way, each piece is followed by a pause of its own length, so that
 * either kind gets half of the loop.
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
  // Timers run right after the reads' statements were sent, so the database works meanwhile.
  const gives = shortReads.underWay > 0;
  const later = (run: () => void) => (gives ? setTimeout(run, 1) : setImmediate(run));
  let begunAt = 0;
  later(() => {
    const now = performance.now();
    if (shortReads.underWay > 0 && (!gives || now < yieldsUntil)) return;
    begunAt = now;
    waiting.shift()?.();
  });
  // In the same turn, after the resumed work has reached its next wait.
  later(() => {
    const now = performance.now();
    if (begunAt > 0) yieldsUntil = now + (now - begunAt);
    scheduled = false;
    schedule();
  });
}

/**
 * Work of one request that would block the event loop for longer than others should wait. It does a part, checks
 * whether its slice is over, and waits for the next one; accounts take turns.
 */
export class LongWork {
  readonly account: string;
  #endsAt = performance.now() + sliceMs;
  #before = process.threadCpuUsage();

  constructor(account: string) {
    this.account = account;
  }

  /** Whether its slice is over; cheap enough to check for each item of a list. */
  get isOver(): boolean {
    const now = performance.now();
    if (now < this.#endsAt) return false;
    // CPU time, because waiting for a disk or for a busy machine is not work.
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

  /** As `rest`, if the slice is over. */
  async pause(): Promise<void> {
    if (this.isOver) await this.rest();
  }
}
