import { readFile } from "node:fs/promises";
import type pg from "pg";
import { lowerPriority } from "../../lower-priority.ts";

/**
 * Lets the server's process behind a connection have the processor after everybody else, so that a statement that takes a
 * whole core for seconds delays no answer. Only for a server on this machine, under this login; never
 * fails. It still gets some of each core, since fast-path reads may wait for what it holds.
 */
export async function lowerBackendPriority(client: pg.ClientBase): Promise<void> {
  const { processID: pid } = client as pg.ClientBase & { processID?: number | null };
  if (!pid) return;
  // A server in another container numbers its own processes: the same number may be another program's here.
  if (process.platform === "linux" && !(await nameOf(pid)).startsWith("postgres")) return;
  await lowerPriority(pid);
}

async function nameOf(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
}
