import { constants, enableCompileCache, flushCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { dataFolderPath } from "./data-folder.ts";

const quietMs = 3_000;

const ofCheckout = join(import.meta.dirname, "../../.runtime/compile-cache");

/**
 * Keeps V8's compiled code of our modules and dependencies, and Node's stripped TypeScript, so that the next start
 * loads them in half the time. The cache is stored next to the Node that bin/bootstrap.mjs installs, for all data
 * folders, or in the data folder if that place is not writable. An entry is used only while its module's text is
 * unchanged, so none is ever wrong; there is one per module.
 *
 * @param dataDir the value of MINTYARD_DATA_DIR.
 * @returns the variable that makes another Node process use the same folder.
 */
export function keepCompileCache(dataDir: string | undefined): Record<string, string> {
  for (const folder of [ofCheckout, join(dataFolderPath(dataDir), "compile-cache")]) {
    const { status, directory } = enableCompileCache(folder);
    if (status === constants.compileCacheStatus.FAILED) continue;
    // The folder already in use, if there is one; Node appends its version to the path that it was given.
    return directory ? { NODE_COMPILE_CACHE: dirname(directory) } : {};
  }
  return {};
}

/** Writes the cache some seconds from now, because a process that is killed writes none. */
export async function compileCacheKept(): Promise<void> {
  await sleep(quietMs, undefined, { ref: false });
  flushCompileCache();
}
