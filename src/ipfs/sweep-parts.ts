import { mkdir, readdir, rename, stat, unlink, utimes } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import type { Logger } from "../telemetry/log.ts";

/**
 * Longer than any upload can take: an unknown file of this age was left by a dead process. A younger one may belong to
 * another process that shares the folder.
 */
export const abandonedAfterMs = 600_000;

/** How long an orphan is kept aside before it is removed for good. */
export const orphanKeptMs = 7 * 86_400_000;

/** How long a copy of a stored CAR may be in use by a slow server that receives it. */
const copyKeptMs = 86_400_000;

const keptMsOf: Record<string, number> = { ".part": abandonedAfterMs, ".copy": copyKeptMs, ".orphan": orphanKeptMs };

/**
 * Removes the remains of dead processes: parts, copies, and orphans that were put aside long ago.
 *
 * @returns how many files were removed.
 */
export async function sweepParts(folder: string, now: number = Date.now()): Promise<number> {
  let removed = 0;
  for (const name of await readdir(folder)) {
    const keptMs = keptMsOf[extname(name)] ?? Infinity;
    const path = join(folder, name);
    // Another process may be sweeping too, or may complete this very file.
    const info = await stat(path).catch(() => null);
    if (!info || now - info.mtimeMs < keptMs) continue;
    await unlink(path).then(
      () => removed++,
      () => undefined,
    );
  }
  return removed;
}

/**
 * Puts aside each CAR that no row names: its process died between the file's rename and the commit. It is moved, not
 * removed: if the database was restored from an older backup, these files are of acknowledged uploads.
 *
 * @param known those of the given files that are in the database; when it throws, nothing is moved.
 * @returns how many files were moved.
 */
export async function sweepOrphans(
  cars: string,
  aside: string,
  known: (files: string[]) => Promise<ReadonlySet<string>>,
  now: number = Date.now(),
): Promise<number> {
  let moved = 0;
  for (const folder of await readdir(cars).catch(() => [])) {
    const old: string[] = [];
    for (const name of await readdir(join(cars, folder)).catch(() => [])) {
      const info = name.endsWith(".car") ? await stat(join(cars, folder, name)).catch(() => null) : null;
      if (info && now - info.mtimeMs >= abandonedAfterMs) old.push(basename(name, ".car"));
    }
    if (old.length === 0) continue;
    const kept = await known(old);
    for (const file of old) {
      if (kept.has(file)) continue;
      await mkdir(aside, { recursive: true });
      const target = join(aside, `${file}.orphan`);
      await rename(join(cars, folder, `${file}.car`), target).then(
        () => moved++,
        () => undefined,
      );
      await utimes(target, now / 1_000, now / 1_000).catch(() => undefined);
    }
  }
  return moved;
}

/**
 * Removes the remains of broken uploads, now and at intervals: a process that runs for months meets many.
 *
 * @returns a function that ends it.
 */
export function sweepRegularly(content: { sweep(): Promise<number> }, log: Logger, intervalMs: number): () => void {
  const sweep = () =>
    void content.sweep().then(
      (files) => files > 0 && log.info({ files }, "cleared away what broken uploads left"),
      (error) => log.warn({ err: error }, "the store could not be swept"),
    );
  sweep();
  const timer = setInterval(sweep, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}
