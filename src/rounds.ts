import { backoffMs } from "./backoff.ts";
import type { Logger } from "./telemetry/log.ts";
import { causeOf, LogOnce } from "./telemetry/log-once.ts";

/** When a loop looks again: at once, after its period, or later and later until something happens. */
export type Next = "again" | "soon" | "rest";

export interface Pace {
  /** Pause of a loop that has something under way, and the first one of a loop that has nothing. */
  periodMs: number;
  /** Whether it pauses longer than its period while it has nothing under way. */
  rests?: boolean;
  /** The longest pause while it fails; the period unless given. */
  retryMs?: number;
  /** Whether a wake-up ends the period too, and not only the part of a pause beyond it. */
  eager?: () => boolean;
  /** Beside wake-ups: what is asked every `everyMs` of a pause, and whether it ends the pause. */
  watch?: { everyMs: number; changed: () => Promise<boolean> };
}

/** How failures are logged. */
export interface Naming {
  /** Its fields say which loop it is. */
  log: Logger;
  failing: string;
  fields?: (error: unknown) => Record<string, unknown>;
}

/**
 * The loops of a process, until its signal. A loop with nothing to do pauses longer and longer; a wake-up ends all
 * pauses. They grow only while notifications are known to arrive: without a listener each loop keeps its period.
 */
export class Rounds {
  readonly signal: AbortSignal;
  readonly #restMs: number;
  readonly #growth: number;
  readonly #sleeping = new Set<() => void>();
  /** Those that a wake-up ends. */
  readonly #wakeable = new Set<() => void>();
  #wakes = 0;
  #listening = false;
  #eventsWanted = false;
  /** Set by the listener, which then listens for events or stops to. */
  onEventsWanted: (wanted: boolean) => unknown = () => undefined;

  /**
   * @param restMs the longest pause of a loop that rests: what a lost notification costs.
   * @param growth how many times as long as the one before each of its pauses is.
   */
  constructor(signal: AbortSignal, { restMs = 10_000, growth = 2 } = {}) {
    this.signal = signal;
    this.#restMs = restMs;
    this.#growth = growth;
    signal.addEventListener("abort", () => this.#sleeping.forEach((end) => void end()), { once: true });
  }

  /** Something happened that may be work for a loop. */
  wake(): void {
    this.#wakes += 1;
    for (const end of this.#wakeable) end();
  }

  /** Whether a listener is known to receive notifications. */
  set listening(listening: boolean) {
    const isNew = this.#listening !== listening;
    this.#listening = listening;
    // What happened meanwhile was not received.
    if (isNew) this.wake();
  }

  /** Whether events wake the loops too: a busy installation has many. */
  set eventsWanted(wanted: boolean) {
    if (this.#eventsWanted === wanted) return;
    this.#eventsWanted = wanted;
    this.onEventsWanted(wanted);
  }

  /** Runs a loop until the signal. Never fails: a round that throws is logged and repeated. */
  async repeat(round: () => Promise<Next>, pace: Pace, { log, failing, fields }: Naming): Promise<void> {
    const { periodMs, rests = false, retryMs = periodMs } = pace;
    const mostMs = rests ? Math.max(this.#restMs, periodMs) : periodMs;
    const resting = { firstMs: periodMs, mostMs, factor: this.#growth };
    const logOnce = new LogOnce(log);
    let failures = 0;
    let idle = 0;
    while (!this.signal.aborted) {
      const wakes = this.#wakes;
      let next: Next = "soon";
      try {
        next = await round();
        if (failures > 0) log.info({ failures }, "works again");
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!this.signal.aborted)
          logOnce.write("warn", causeOf(error), { failures, ...(fields?.(error) ?? { err: error }) }, failing);
      }
      idle = next === "rest" ? idle + 1 : 0;
      if (failures > 0) await this.#sleep(backoffMs(failures + 1, { firstMs: periodMs, mostMs: retryMs }));
      else if (next !== "again" && (await this.#pause(wakes, backoffMs(idle + 1, resting), pace))) idle = 0;
    }
  }

  /**
   * @param wakes so many had come when the round began.
   * @returns whether something happened.
   */
  async #pause(wakes: number, grownMs: number, { periodMs, eager, watch }: Pace): Promise<boolean> {
    const begun = performance.now();
    if (!eager?.()) await this.#sleep(periodMs);
    for (;;) {
      if (this.#wakes !== wakes) return true;
      const leftMs = begun + (this.#listening ? grownMs : periodMs) - performance.now();
      if (leftMs <= 0 || this.signal.aborted) return false;
      if (watch && (await watch.changed().catch(() => true))) return true;
      await this.#sleep(Math.min(leftMs, watch?.everyMs ?? leftMs), true);
    }
  }

  async #sleep(ms: number, wakeable = false): Promise<void> {
    if (this.signal.aborted) return;
    await new Promise<void>((done) => {
      const end = () => {
        clearTimeout(timer);
        this.#sleeping.delete(end);
        this.#wakeable.delete(end);
        done();
      };
      const timer = setTimeout(end, ms);
      this.#sleeping.add(end);
      if (wakeable) this.#wakeable.add(end);
    });
  }
}
