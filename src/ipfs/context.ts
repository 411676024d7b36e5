import type { Kysely } from "kysely";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import type { Logger } from "../telemetry/log.ts";
import type { LogOnce } from "../telemetry/log-once.ts";
import type { ContentStore } from "./content-store.ts";

/** What content is pinned and checked with. A process's `Services` has these members and more. */
export interface ContentContext {
  config: Config;
  log: Logger;
  logOnce: LogOnce;
  db: Kysely<Database>;
  content: ContentStore;
}
