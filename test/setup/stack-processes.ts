import { readdirSync, readFileSync } from "node:fs";
import type { RunningStack } from "./stack.ts";

/** Processes of a stack, found by the data folder in their environment (Linux). */
export function processesOf(stack: Pick<RunningStack, "dir">): { pid: number; command: string }[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      if (!readProc(name, "environ").includes(`MINTYARD_DATA_DIR=${stack.dir}\0`)) return [];
      const command = readProc(name, "cmdline").replaceAll("\0", " ").trim();
      // A process that has ended but was not collected yet has no command.
      return command === "" ? [] : [{ pid: Number(name), command }];
    });
}

/** Whether a launcher listens for signals by now (Linux). SIGHUP is the last that it asks for, and Node itself catches none. */
export function hearsSignals(pid: number): boolean {
  const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readProc(String(pid), "status"))?.[1] ?? "0";
  // Bit 0 is signal 1.
  return (BigInt(`0x${caught}`) & 1n) === 1n;
}

/** Empty for a process that is gone, or somebody else's. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
