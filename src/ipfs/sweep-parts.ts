import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

/**
 * Older than any upload can run: a `.part` of this age was left by a process that died. Younger ones
 * may belong to another process that shares the folder.
 */
export const abandonedAfterMs = 600_000;

/** Removes what dead processes left behind. @returns how many files went. */
export async function sweepParts(folder: string, now: number = Date.now()): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".part")) continue;
    const path = join(folder, name);
    // Another process may sweep at the same time, or finish this very file.
    const info = await stat(path).catch(() => null);
    if (!info || now - info.mtimeMs < abandonedAfterMs) continue;
    await unlink(path).then(
      () => removed++,
      () => undefined,
    );
  }
  return removed;
}
