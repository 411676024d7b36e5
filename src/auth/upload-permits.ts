import { Slots } from "../slots.ts";

/** How many may wait for each one that runs; more are turned away at once. */
const waitingPerPermit = 16;

/**
 * Bounds how many uploads of one account a process works on. A further one waits: a launch kit that sends all its
 * files at once is served in order, and its bytes stay in its own network buffers until then.
 */
export class UploadPermits {
  readonly #accounts = new Map<string, Slots>();
  /** Of those that wait, in the order of their arrival. */
  readonly #waits = new Set<{ since: number }>();
  readonly #waitMs: number;

  constructor(waitMs = 20_000) {
    this.#waitMs = waitMs;
  }

  /** Uploads of all accounts: under way, waiting, and for how long the oldest has waited. */
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

  /** @returns what returns the permit; null when none was free in time, or too many wait already. */
  async take(account: string, most: number): Promise<(() => void) | null> {
    const slots = this.#accounts.get(account) ?? new Slots(most);
    this.#accounts.set(account, slots);
    // A plan may change while uploads are under way.
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
