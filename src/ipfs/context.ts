import type { Kysely } from "kysely";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import type { Logger } from "../telemetry/log.ts";
import type { LogOnce } from "../telemetry/log-once.ts";
import type { ContentStore } from "./content-store.ts";

/** Dependencies of pinning and checking content. A process's `Services` has these members and more. */
export interface ContentContext {
  config: Config;
  log: Logger;
  logOnce: LogOnce;
  db: Kysely<Database>;
  content: ContentStore;
}

/** A file below the root of a directory. */
interface PinFile {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Makes the content of a CAR available at another service. */
export interface PinDriver {
  name: string;
  /**
   * @param files the same content file by file, for a service that does not take the CAR; null for a single file.
   * @returns the root that the service stored, CIDv1.
   * @throws with `statusCode` where there was an answer.
   */
  pin(root: string, car: Blob, files: () => Promise<PinFile[] | null>): Promise<string>;
}
