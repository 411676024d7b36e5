import { constants, enableCompileCache, flushCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { dataFolderPath } from "./data-folder.ts";

const quietMs = 3_000;

const ofCheckout = join(import.meta.dirname, "../../.runtime/compile-cache");

/**
 * Keeps what V8 makes of our modules and of those we use, and what Node makes of their types: the next start loads that
 * in half the time. It belongs to the code and not to the data, so it lies beside the Node that bin/bootstrap.mjs
 * installs, for all data folders; where nobody may write there, in the data folder. An entry is found by its module's
 * path and used while the module's text is the same, so none is ever wrong, and there are as many as modules.
 *
 * @param dataDir the value of MINTYARD_DATA_DIR.
 * @returns the variable that makes another Node process use the same folder.
 */
export function keepCompileCache(dataDir: string | undefined): Record<string, string> {
  for (const folder of [ofCheckout, join(dataFolderPath(dataDir), "compile-cache")]) {
    const { status, directory } = enableCompileCache(folder);
    if (status === constants.compileCacheStatus.FAILED) continue;
    // The one that is in use already, when there is one; Node puts its version below what it was given.
    return directory ? { NODE_COMPILE_CACHE: dirname(directory) } : {};
  }
  return {};
}

/** Writes the cache some seconds from now: a process that is killed would write nothing. */
export async function compileCacheKept(): Promise<void> {
  await sleep(quietMs, undefined, { ref: false });
  flushCompileCache();
}
