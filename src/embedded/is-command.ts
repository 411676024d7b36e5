import { existsSync, readFileSync } from "node:fs";

/**
 * Whether a process lives and is what a file of ours records that it was. Numbers of processes are used
 * again, soon so in containers; where the system shows no commands, being alive has to do.
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
