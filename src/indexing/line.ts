import { setTimeout as sleep } from "node:timers/promises";
import { Slots } from "../slots.ts";

/** Lets at most this many calls per second through, in order; 0: no limit. */
export function rateLimit(perSecond: number): <T>(run: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  const turn = new Slots(1);
  const gapMs = 1_000 / perSecond;
  let next = 0;
  return async (run, signal) => {
    if (perSecond === 0) return run();
    const isInLine = turn.areTaken || Date.now() < next;
    const wait = async () => {
      const leftMs = next - Date.now();
      if (leftMs > 0) await sleep(leftMs, undefined, { signal });
      // Timers fire late. Queued calls keep their schedule all the same, but unused time is not made up for.
      next = (isInLine ? next : Date.now()) + gapMs;
    };
    await turn.run(wait, { signal });
    return run();
  };
}
