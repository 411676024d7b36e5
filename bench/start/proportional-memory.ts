import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ProcessMemory {
  pid: number;
  command: string;
  /** Proportional set size: a page that several processes share counts for each by its part. 10^6 bytes. */
  megabytes: number;
  /** What of it is no part of a file. Other processes of the machine, which may run the same programs, change nothing of it. */
  ownMegabytes: number;
  /** Pages of files that it holds, those that others hold too included. */
  fileMegabytes: number;
  /** The program that it runs. */
  program: string;
  /** Processor time that it took so far, in seconds. */
  processorSeconds: number;
}

/** Of a clock that programs on Linux see, whatever the kernel's own is. */
const ticksPerSecond = 100;

/** All processes of a folder's stack, npm and its shell included, when those started it. Linux. */
export function stackProcesses(folder: string): { pid: number; command: string }[] {
  const parents = new Map<number, number>();
  const members = new Set<number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(name, "stat");
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    if (read(name, "environ").includes(`MINTYARD_DATA_DIR=${folder}\0`)) members.add(Number(name));
  }
  // Ponder gets nothing of the environment, and neither do its children.
  for (let grown = true; grown; ) {
    grown = false;
    for (const [pid, parent] of parents) {
      if (members.has(pid) || !members.has(parent)) continue;
      members.add(pid);
      grown = true;
    }
  }
  return [...members]
    .map((pid) => ({ pid, command: read(String(pid), "cmdline").replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== "");
}

/**
 * The processes of a folder's stack and what they hold, the largest first; npm and its shell, which only started them,
 * are left out. Linux.
 */
export function proportionalMemory(folder: string): ProcessMemory[] {
  return stackProcesses(folder)
    .filter(({ command }) => !/^(npm|sh -c) /.test(command))
    .map(({ pid, command }) => {
      const rollup = read(String(pid), "smaps_rollup");
      const megabytes = megabytesOf(rollup, "Pss");
      return {
        pid,
        command,
        megabytes,
        ownMegabytes: megabytes - megabytesOf(rollup, "Pss_File"),
        fileMegabytes: megabytesOf(read(String(pid), "status"), "RssFile"),
        program: programOf(pid),
        processorSeconds: processorSeconds(pid),
      };
    })
    .sort((a, b) => b.megabytes - a.megabytes);
}

/** A line such as `Pss: 35080 kB`. */
function megabytesOf(text: string, name: string): number {
  return (Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0) * 1024) / 1e6;
}

/** Empty for a process that has gone meanwhile, or somebody else's. */
function programOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return "";
  }
}

function processorSeconds(pid: number): number {
  const stat = read(String(pid), "stat");
  const [user, system] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 13);
  return (Number(user ?? 0) + Number(system ?? 0)) / ticksPerSecond;
}

/** Empty for a process that has gone meanwhile. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
