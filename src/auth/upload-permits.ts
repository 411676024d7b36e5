import { Slots } from "../slots.ts";

/** How many uploads may wait for each running one; more are refused at once. */
const waitingPerPermit = 16;

/**
 * Bounds how many uploads of one account a process works on. Further ones wait: a launch kit that sends all its files
 * at once is served in order, and until then their bytes stay in network buffers.
 */
export class UploadPermits {
  readonly #accounts = new Map<string, Slots>();
  /** The waiting uploads, in order of arrival. */
  readonly #waits = new Set<{ since: number }>();
  readonly #waitMs: number;

  constructor(waitMs = 20_000) {
    this.#waitMs = waitMs;
  }

  /** Uploads of all accounts: running, waiting, and the longest wait so far. */
  get load(): { running: number; waiting: number; oldestSeconds: number } {
    let running = 0;
    for (const slots of this.#accounts.values()) running += slots.running;
    const [oldest] = this.#waits;
    return {
      running,
      waiting: this.#waits.size,
      oldestSeconds: oldest ? (performance.now() - oldest.since) / 1_000 : 0,
    };
  }

  /** @returns a function that returns the permit; null if none became free in time, or too many already wait. */
  async take(account: string, most: number): Promise<(() => void) | null> {
    const slots = this.#accounts.get(account) ?? new Slots(most);
    this.#accounts.set(account, slots);
    // The plan may change while uploads are running.
    slots.most = most;
    if (slots.areTaken && slots.waiting >= most * waitingPerPermit) return null;
    const leave = slots.areTaken ? await this.#wait(slots) : await slots.take();
    if (!leave) return null;
    return () => {
      leave();
      if (slots.running === 0) this.#accounts.delete(account);
    };
  }

  async #wait(slots: Slots): Promise<(() => void) | null> {
    const wait = { since: performance.now() };
    this.#waits.add(wait);
    try {
      return await slots.take({ signal: AbortSignal.timeout(this.#waitMs) });
    } catch {
      return null;
    } finally {
      this.#waits.delete(wait);
    }
  }
}
