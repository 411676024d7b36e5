import type { Kysely } from "kysely";
import type pg from "pg";
import { KeyCache } from "./auth/keys.ts";
import { RateLimiter } from "./auth/rate-limit.ts";
import { UsageCounter } from "./auth/usage.ts";
import type { Chain } from "./chains.ts";
import { type Config, secretsOf } from "./config.ts";
import type { Database } from "./db/database.ts";
import { createDatabase, createPool } from "./db/pool.ts";
import { PrimaryPositions } from "./db/primary-positions.ts";
import { ReadPool } from "./db/read-pool.ts";
import { Replica } from "./db/replica.ts";
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
  /** For reads of the index and of metadata: a replica may answer, some seconds behind. Nothing else goes here. */
  index: { pool: ReadPool; db: Kysely<Database> };
  chains: readonly Chain[];
  rpc: RpcClients;
  relay: Relay;
  /** Keys, rates and usage of the requests of this process. */
  auth: { keys: KeyCache; limiter: RateLimiter; usage: UsageCounter };
  content: ContentStore;
}

interface ServiceOptions {
  /** The database shows a request the rows of its own account only. */
  tenants: boolean;
  /** Reads of the index go to `DATABASE_REPLICA_URLS`. End `index.pool` too. */
  replicas?: boolean;
}

export function createServices(
  config: Config,
  processName: string,
  options: ServiceOptions = { tenants: false },
): Services {
  const pool = createPool(config.databaseUrls[processName] ?? config.databaseUrl, processName, 10, options);
  const db = createDatabase(pool);
  const rpc = createRpcClients();
  const log = createLogger(processName, config.logLevel, secretsOf(config));
  armFaults(config.chaos);
  return {
    config,
    log,
    pool,
    db,
    index: options.replicas
      ? openReplicas(config, pool, processName, options.tenants)
      : { pool: new ReadPool(pool), db },
    chains: config.chains,
    rpc,
    auth: {
      keys: new KeyCache(db, config.keyPepper),
      limiter: new RateLimiter(pool),
      usage: new UsageCounter(pool, log),
    },
    relay: createRelay(),
    content: openContentStore(config, db),
  };
}

function openReplicas(config: Config, primary: pg.Pool, processName: string, tenants: boolean): Services["index"] {
  const { urls, maxLagSeconds } = config.replicas;
  const options = { processName, tenants, maxLagSeconds };
  const pool = new ReadPool(
    primary,
    urls.map((url, index) => new Replica(index + 1, url, options)),
    urls.length > 0 ? new PrimaryPositions(config.databaseUrl, `mintyard-${processName}-probe`) : null,
  );
  return { pool, db: createDatabase(pool) };
}
