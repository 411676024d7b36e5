import { unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Where the chaos run may end the process, each a moment whose loss the relay has to survive. */
export type CrashPoint =
  | "accept-before-commit"
  | "accept-after-commit"
  | "assign-before-commit"
  | "assign-after-commit"
  | "sign-before-persist"
  | "sign-after-persist"
  | "send-after"
  | "mined-before-commit"
  | "confirm-before-commit"
  | "finalize-before-commit"
  | "bump-before-persist"
  | "bump-after-persist";

/** Mistakes that the relay's design excludes, kept here to show that the chaos run would notice them. */
export type Defect =
  | "send-before-persist"
  | "nonce-from-node"
  | "final-at-once"
  | "new-nonce-on-error"
  | "nonce-recycled"
  | "failed-after-tries"
  | "old-attempts-forgotten"
  | "receipt-not-canonical"
  | "underpriced-is-ours"
  | "check-then-insert"
  | "chain-id-at-start-only"
  | "reserved-outside"
  | "weak-salt"
  | "compare-and-set-dropped"
  | "fees-in-floats"
  | "host-clock"
  | "lost-rows-unasked";

interface Faults {
  crash: ReadonlyMap<string, number>;
  /** Folder in which a file named like a crash point ends the first process that comes by. */
  orders: string | null;
  defects: ReadonlySet<string>;
}

let active: Faults | null = null;

/**
 * Arms deliberate faults in this process; `loadConfig` refuses them anywhere but on local chains.
 *
 * @param settings `crash`: `point:probability,…`, or `@` and a folder of orders; `defects`: names separated by commas.
 */
export function armFaults(settings: { crash: string; defects: string } | null): void {
  if (!settings) {
    active = null;
    return;
  }
  const crash = new Map<string, number>();
  const orders = settings.crash.startsWith("@") ? settings.crash.slice(1) : null;
  for (const item of (orders === null ? settings.crash : "").split(",").filter(Boolean)) {
    const [point = "", probability = "0"] = item.split(":");
    crash.set(point, Number(probability));
  }
  active = { crash, orders, defects: new Set(settings.defects.split(",").filter(Boolean)) };
}

/** Ends the process here, without a farewell, when the chaos run's dice say so. */
export function crashPoint(point: CrashPoint): void {
  if (!active || !(Math.random() < (active.crash.get(point) ?? 0) || takeOrder(active.orders, point))) return;
  writeSync(2, `CHAOS_CRASH ${point}\n`);
  process.kill(process.pid, "SIGKILL");
  // The signal is delivered between two instructions; nothing after this line may run.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** Removing the file is what decides between two processes that come by at once. */
function takeOrder(orders: string | null, point: CrashPoint): boolean {
  if (orders === null) return false;
  try {
    unlinkSync(join(orders, point));
    return true;
  } catch {
    return false;
  }
}

export function hasDefect(defect: Defect): boolean {
  return active?.defects.has(defect) ?? false;
}
