import { readdirSync, readFileSync } from "node:fs";

interface ProcessTimes {
  parent: number;
  /** CPU time, user and system, of the process and of its children that have ended and been waited for. */
  ticks: number;
}

/** The kernel counts hundredths of a second on every platform that Node runs on. */
const ticksPerSecond = 100;

/** Null without /proc, and for a process that has ended. */
function readTimes(pid: string | number): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name is in parentheses and may contain anything; the third field follows it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [parent, utime, stime, cutime, cstime] = [1, 11, 12, 13, 14].map((index) => Number(fields[index]));
    return { parent: parent ?? 0, ticks: (utime ?? 0) + (stime ?? 0) + (cutime ?? 0) + (cstime ?? 0) };
  } catch {
    return null;
  }
}

/**
 * CPU time, user and system, of a process and all its descendants, including those that have ended.
 *
 * @returns seconds; 0 without /proc, as on macOS.
 */
export function processorSeconds(pid: number): number {
  const own = readTimes(pid);
  if (!own) return 0;
  const children = new Map<number, { pid: number; ticks: number }[]>();
  for (const name of readdirSync("/proc")) {
    const times = /^\d+$/.test(name) ? readTimes(name) : null;
    if (times)
      children.set(times.parent, [...(children.get(times.parent) ?? []), { pid: Number(name), ticks: times.ticks }]);
  }
  let ticks = own.ticks;
  for (const tree = [pid]; tree.length > 0; ) {
    for (const child of children.get(tree.pop() ?? 0) ?? []) {
      ticks += child.ticks;
      tree.push(child.pid);
    }
  }
  return ticks / ticksPerSecond;
}
