import { writeFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Lets a process and its children have the processor after everybody else, though always some of it. Linux divides
 * the processor between sessions first (autogroups), and a nice value counts only within one, so the session gets the
 * same value. Where there are no autogroups, threads that run already keep theirs: its priority falls a little less.
 *
 * @param pid of a session's leader.
 */
export async function lowerPriority(pid: number): Promise<void> {
  const nice = constants.priority.PRIORITY_BELOW_NORMAL;
  try {
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
  } catch {
    // It has ended already.
  }
}
