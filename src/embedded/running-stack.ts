import { DataFolder } from "./data-folder.ts";

/** Of the processes of the stack, not of a command beside them. */
const ownToEach = new Set(["PORT", "METRICS_PORT", "TMPDIR"]);

/**
 * Gives a command what the stack that runs in `MINTYARD_DATA_DIR` gave its processes (database, local chains, wallets),
 * so that an operator need not. What the environment names stays as it is; with a database of its own, nothing is added.
 *
 * @throws Error when the stack was given a `KEY_PEPPER` and this command was not: keys that it makes would open nothing.
 */
export function joinRunningStack(env: NodeJS.ProcessEnv): void {
  if (env["DATABASE_URL"]?.trim()) return;
  const running = DataFolder.environmentOf(env["MINTYARD_DATA_DIR"]);
  if (!running) return;
  for (const [name, value] of Object.entries(running))
    if (!ownToEach.has(name) && !env[name]?.trim()) env[name] = value;
  if (!env["KEY_PEPPER"]?.trim())
    throw new Error("KEY_PEPPER: the running service was given one; give this command the same");
}
