import { readdirSync, readFileSync } from "node:fs";

interface ProcessTimes {
  parent: number;
  /** User and system time of the process itself, and of children that ended and were waited for. */
  ticks: number;
}

/** The kernel counts in hundredths of a second on every platform that Node runs on. */
const ticksPerSecond = 100;

/** Null without /proc, and for a process that is gone. */
function readTimes(pid: string | number): ProcessTimes | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program stands in parentheses and may hold anything; the third field follows it.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [parent, utime, stime, cutime, cstime] = [1, 11, 12, 13, 14].map((index) => Number(fields[index]));
    return { parent: parent ?? 0, ticks: (utime ?? 0) + (stime ?? 0) + (cutime ?? 0) + (cstime ?? 0) };
  } catch {
    return null;
  }
}

/**
 * User and system time that a process and all that it started have taken, processes that have ended included.
 *
 * @returns seconds; 0 where there is no /proc, as on macOS.
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
