import { unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";

/** Points at which the chaos run may kill the process. The relay has to survive a crash at each of them. */
export type Failpoint =
  | "accept-before-commit"
  | "accept-after-commit"
  | "nonce-before-signature"
  | "sign-before-persist"
  | "sign-before-commit"
  | "sign-after-persist"
  | "send-after"
  | "mined-before-commit"
  | "confirm-before-commit"
  | "finalize-before-commit"
  | "bump-before-persist"
  | "bump-after-persist";

interface Armed {
  probabilities: ReadonlyMap<string, number>;
  /** Folder in which a file named after a failpoint kills the first process that reaches it. */
  orders: string | null;
}

let armed: Armed | null = null;

/**
 * Arms the failpoints of this process. Without this call, or with null, they do nothing.
 *
 * @param setting `MINTYARD_CHAOS_CRASH` as `loadConfig` accepted it: `failpoint:probability,…`, or `@` and a folder of
 *   orders. `loadConfig` refuses the variable in production and on chains that are not local.
 */
export function armFailpoints(setting: string | null): void {
  if (setting === null) {
    armed = null;
    return;
  }
  const orders = setting.startsWith("@") ? setting.slice(1) : null;
  const items = orders === null ? setting.split(",").filter(Boolean) : [];
  const probabilities = items.map((item): [string, number] => {
    const [name = "", probability = "0"] = item.split(":");
    return [name, Number(probability)];
  });
  armed = { probabilities: new Map(probabilities), orders };
}

/** Kills the process with SIGKILL if this failpoint is armed, and drawn or ordered. */
export function failpoint(name: Failpoint): void {
  if (!armed || !(Math.random() < (armed.probabilities.get(name) ?? 0) || takeOrder(armed.orders, name))) return;
  writeSync(2, `CHAOS_CRASH ${name}\n`);
  process.kill(process.pid, "SIGKILL");
  // The signal is delivered asynchronously; nothing after this line may run.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

/** Removing the file decides which of two processes that reach the failpoint at once is killed. */
function takeOrder(orders: string | null, name: Failpoint): boolean {
  if (orders === null) return false;
  try {
    unlinkSync(join(orders, name));
    return true;
  } catch {
    return false;
  }
}
