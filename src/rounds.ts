import { backoffMs } from "./backoff.ts";
import type { Logger } from "./telemetry/log.ts";
import { causeOf, LogOnce } from "./telemetry/log-once.ts";

/** When a loop runs again: at once, after its period, or after pauses that grow until something happens. */
export type Next = "again" | "soon" | "rest";

export interface Pace {
  /** Pause of a loop with work under way, and the first pause of one without. */
  periodMs: number;
  /** Whether its pauses grow beyond its period while it has nothing under way. */
  rests?: boolean;
  /** The longest pause while it fails; the period unless given. */
  retryMs?: number;
  /** Whether a wake-up also ends the period itself, and not only the part of a pause beyond it. */
  eager?: () => boolean;
  /** In addition to wake-ups: a check every `everyMs` of a pause, and whether it ends the pause. */
  watch?: { everyMs: number; changed: () => Promise<boolean> };
}

/** How a loop's failures are logged. */
export interface Naming {
  /** Its fields identify the loop. */
  log: Logger;
  failing: string;
  fields?: (error: unknown) => Record<string, unknown>;
}

/**
 * A process's loops, until its signal. A loop with nothing to do pauses longer and longer, and a wake-up ends all
 * pauses. Pauses grow only while notifications are known to arrive: without a listener, each loop keeps its period.
 */
export class Rounds {
  readonly signal: AbortSignal;
  readonly #restMs: number;
  readonly #growth: number;
  readonly #sleeping = new Set<() => void>();
  /** Pauses that a wake-up ends. */
  readonly #wakeable = new Set<() => void>();
  #wakes = 0;
  #listening = false;
  #eventsWanted = false;
  /** Set by the listener; called when it should start or stop listening for events. */
  onEventsWanted: (wanted: boolean) => unknown = () => undefined;

  /**
   * @param restMs the longest pause of a loop that rests: the delay that a lost notification costs.
   * @param growth factor between two consecutive pauses.
   */
  constructor(signal: AbortSignal, { restMs = 10_000, growth = 2 } = {}) {
    this.signal = signal;
    this.#restMs = restMs;
    this.#growth = growth;
    signal.addEventListener("abort", () => this.#sleeping.forEach((end) => void end()), { once: true });
  }

  /** Reports that something happened that may be work for a loop. */
  wake(): void {
    this.#wakes += 1;
    for (const end of this.#wakeable) end();
  }

  /** Whether a listener is known to receive notifications. */
  set listening(listening: boolean) {
    const isNew = this.#listening !== listening;
    this.#listening = listening;
    // Notifications sent before it listened were not received.
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
   * @param wakes the number of wake-ups when the round began.
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
