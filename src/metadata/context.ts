import type { Kysely } from "kysely";
import type { Chain } from "../chains.ts";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import type { ContentStore } from "../ipfs/content-store.ts";
import type { RpcClients } from "../rpc/clients.ts";
import type { Logger } from "../telemetry/log.ts";

/** What metadata is read with. A process's `Services` has these members and more. */
export interface MetadataContext {
  config: Config;
  log: Logger;
  db: Kysely<Database>;
  chains: readonly Chain[];
  rpc: RpcClients;
  content: ContentStore;
}
