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
  /** Whether a ring also ends the period, and not only what a pause is longer. */
  eager?: () => boolean;
  /** Beside rings: what is asked every `everyMs` of a pause, and whether it ends the pause. */
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
 * The loops of a process, until its signal. Whoever has nothing to do pauses longer and longer; a ring ends the pauses of
 * all. Pauses grow only while rings are known to arrive: without a listener each loop keeps its period.
 */
export class Rounds {
  readonly signal: AbortSignal;
  readonly #restMs: number;
  readonly #growth: number;
  readonly #sleeping = new Set<() => void>();
  /** Those of them that a ring wakes. */
  readonly #ringable = new Set<() => void>();
  #rings = 0;
  #heard = false;
  #eventsWanted = false;
  /** Of whoever rings. */
  onEventsWanted: (wanted: boolean) => unknown = () => undefined;

  /**
   * @param restMs the longest pause of a loop that rests: what a lost ring costs.
   * @param growth how many times as long as the one before each of its pauses is.
   */
  constructor(signal: AbortSignal, { restMs = 10_000, growth = 2 } = {}) {
    this.signal = signal;
    this.#restMs = restMs;
    this.#growth = growth;
    signal.addEventListener("abort", () => this.#sleeping.forEach((wake) => void wake()), { once: true });
  }

  /** Something happened that may be work for a loop. */
  ring(): void {
    this.#rings += 1;
    for (const wake of this.#ringable) wake();
  }

  /** Whether whoever calls `ring` is known to hear. */
  set heard(heard: boolean) {
    const isNew = this.#heard !== heard;
    this.#heard = heard;
    // Nobody heard what happened meanwhile.
    if (isNew) this.ring();
  }

  /** Whether events are to ring too: a busy installation has many. */
  set eventsWanted(wanted: boolean) {
    if (this.#eventsWanted === wanted) return;
    this.#eventsWanted = wanted;
    this.onEventsWanted(wanted);
  }

  /** Runs a loop until the signal. Never fails: a round that throws is logged and repeated. */
  async repeat(round: () => Promise<Next>, pace: Pace, { log, failing, fields }: Naming): Promise<void> {
    const { periodMs, rests = false, retryMs = periodMs } = pace;
    const resting = {
      ...{ firstMs: periodMs, mostMs: rests ? Math.max(this.#restMs, periodMs) : periodMs },
      factor: this.#growth,
    };
    const logOnce = new LogOnce(log);
    let failures = 0;
    let idle = 0;
    while (!this.signal.aborted) {
      const rings = this.#rings;
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
      else if (next !== "again" && (await this.#pause(rings, backoffMs(idle + 1, resting), pace))) idle = 0;
    }
  }

  /**
   * @param rings so many had come when the round began.
   * @returns whether something happened.
   */
  async #pause(rings: number, grownMs: number, { periodMs, eager, watch }: Pace): Promise<boolean> {
    const begun = performance.now();
    if (!eager?.()) await this.#sleep(periodMs);
    for (;;) {
      if (this.#rings !== rings) return true;
      const leftMs = begun + (this.#heard ? grownMs : periodMs) - performance.now();
      if (leftMs <= 0 || this.signal.aborted) return false;
      if (watch && (await watch.changed().catch(() => true))) return true;
      await this.#sleep(Math.min(leftMs, watch?.everyMs ?? leftMs), true);
    }
  }

  async #sleep(ms: number, untilRung = false): Promise<void> {
    if (this.signal.aborted) return;
    await new Promise<void>((done) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleeping.delete(wake);
        this.#ringable.delete(wake);
        done();
      };
      const timer = setTimeout(wake, ms);
      this.#sleeping.add(wake);
      if (untilRung) this.#ringable.add(wake);
    });
  }
}
