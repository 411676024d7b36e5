import type { Kysely } from "kysely";
import type pg from "pg";
import type { Chain } from "./chains.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { createDatabase, createPool } from "./db/pool.ts";
import { type ContentStore, openContentStore } from "./ipfs/content-store.ts";
import { createLogger, type Logger } from "./log.ts";
import { armFaults } from "./relay/faults.ts";
import { createRelay, type Relay } from "./relay/relay.ts";
import { createRpcClients, type RpcClients } from "./rpc/clients.ts";

/** What use cases and workers work with; built once per process and passed in. */
export interface Services {
  config: Config;
  log: Logger;
  pool: pg.Pool;
  db: Kysely<Database>;
  chains: readonly Chain[];
  rpc: RpcClients;
  relay: Relay;
  content: ContentStore;
}

export function createServices(config: Config, processName: string): Services {
  const pool = createPool(config.databaseUrl, processName);
  const db = createDatabase(pool);
  const rpc = createRpcClients();
  armFaults(config.chaos);
  return {
    config,
    log: createLogger(processName, config.logLevel),
    pool,
    db,
    chains: config.chains,
    rpc,
    relay: createRelay(),
    content: openContentStore(config, db),
  };
}
