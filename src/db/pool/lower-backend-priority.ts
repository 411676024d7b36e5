import { readFile, writeFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";

/**
 * Lets the server's process behind a connection have the processor after everybody else, so that a statement that takes a
 * whole core for seconds delays no answer. Only for a server on this machine, under this login; never
 * fails. It still gets some of each core, since fast-path reads may wait for what it holds. Only a statement that ends
 * within its time may have this: what has to keep up with a chain would fall behind for as long as other programs are busy.
 */
export async function lowerBackendPriority(client: pg.ClientBase): Promise<void> {
  const { processID: pid } = client as pg.ClientBase & { processID?: number | null };
  if (!pid) return;
  // A server in another container numbers its own processes: the same number may be another program's here.
  if (process.platform === "linux" && !(await nameOf(pid)).startsWith("postgres")) return;
  try {
    await lowerSession(pid);
  } catch {
    // It has ended already.
  }
}

/**
 * Linux divides the processor between sessions first (autogroups), and a nice value counts only within one, so the session
 * of the server's process gets the same value.
 */
async function lowerSession(pid: number): Promise<void> {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  setPriority(pid, nice);
  if (process.platform !== "linux") return;
  // The kernel takes one such request in a tenth of a second from those who are not root (EAGAIN).
  for (let tries = 0; tries < 10; tries += 1) {
    const done = await writeFile(`/proc/${pid}/autogroup`, String(nice)).then(
      () => true,
      (error: NodeJS.ErrnoException) => error.code !== "EAGAIN",
    );
    if (done) return;
    await sleep(100 + 50 * tries);
  }
}

async function nameOf(pid: number): Promise<string> {
  return await readFile(`/proc/${pid}/comm`, "utf8").catch(() => "");
}
