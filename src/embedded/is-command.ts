import { existsSync, readFileSync } from "node:fs";

/**
 * Whether a process is alive and runs the command that one of our files recorded. Process ids are reused, in containers
 * soon. Where the system does not show commands, it is enough that the process is alive.
 */
export function isCommand(pid: number, pattern: RegExp): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (!existsSync("/proc/self/cmdline")) return true;
  try {
    return pattern.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  } catch {
    return false;
  }
}
