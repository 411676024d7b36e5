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

/** Empty for a process that is gone, or somebody else's. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
