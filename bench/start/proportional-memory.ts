import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export interface ProcessMemory {
  pid: number;
  command: string;
  /** Proportional set size in 10^6 bytes: a page shared by several processes is divided among them. */
  megabytes: number;
  /** The part that is not file-backed. Other processes that run the same programs do not affect it. */
  ownMegabytes: number;
  /** File-backed pages, including those that other processes share. */
  fileMegabytes: number;
  /** The program that the process runs. */
  program: string;
  /** CPU seconds used so far. */
  processorSeconds: number;
}

/** The clock that Linux shows to programs, whatever the kernel's own is. */
const ticksPerSecond = 100;

/** All processes of a folder's stack, including npm and its shell if those started it. Linux. */
export function stackProcesses(folder: string): { pid: number; command: string }[] {
  const parents = new Map<number, number>();
  const members = new Set<number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const stat = read(name, "stat");
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    if (read(name, "environ").includes(`MINTYARD_DATA_DIR=${folder}\0`)) members.add(Number(name));
  }
  // Ponder does not get the environment, and neither do its children.
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
 * The processes of a folder's stack and their memory, largest first, without npm and its shell, which only started
 * them. Linux.
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

/** Empty for a process that has ended meanwhile, or belongs to another user. */
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

/** Empty for a process that has ended meanwhile. */
function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
