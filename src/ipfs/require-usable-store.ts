import { ConfigError } from "../setting-words.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ContentStore } from "./content-store.ts";

/**
 * For the start of a process: a misconfigured store ends it, one that is away for now does not.
 *
 * @throws ConfigError with one sentence that names the setting.
 */
export async function requireUsableStore(content: ContentStore, log: Logger): Promise<void> {
  await content.cars
    .check(() => content.databaseName())
    .catch((error: Error) => {
      if (error instanceof ConfigError) throw error;
      log.error(
        { err: error.cause ?? error },
        "the store of IPFS_STORE is away; uploads and reads of files are 503 until it is back",
      );
    });
}
