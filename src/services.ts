import type { Kysely } from "kysely";
import type pg from "pg";
import { KeyCache } from "./auth/keys.ts";
import { RateLimiter } from "./auth/rate-limit.ts";
import { UploadSlots } from "./auth/upload-slots.ts";
import { UsageCounter } from "./auth/usage.ts";
import type { Chain } from "./chains.ts";
import { type Config, secretsOf } from "./config.ts";
import type { Database } from "./db/database.ts";
import { connectionOptions, createDatabase, createPool } from "./db/pool.ts";
import { PrimaryPositions } from "./db/primary-positions.ts";
import { openReadLanes, type ReadLanes } from "./db/read-lanes.ts";
import { ReadPool, type Server } from "./db/read-pool.ts";
import { Replica, type ReplicaTrouble } from "./db/replica.ts";
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
  /** Reads whose answer is JSON made by PostgreSQL. */
  reads: ReadLanes;
  chains: readonly Chain[];
  rpc: RpcClients;
  relay: Relay;
  /** Keys, rates and usage of the requests of this process. */
  auth: { keys: KeyCache; limiter: RateLimiter; usage: UsageCounter; slots: UploadSlots };
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
  const databaseUrl = config.databaseUrls[processName] ?? config.databaseUrl;
  const pool = createPool(databaseUrl, processName, 10, options);
  const lanes = openReadLanes(connectionOptions(databaseUrl, processName, options));
  const db = createDatabase(pool);
  const rpc = createRpcClients();
  const log = createLogger(processName, config.logLevel, secretsOf(config));
  armFaults(config.chaos);
  return {
    config,
    log,
    pool,
    db,
    ...(options.replicas && config.replicas.urls.length > 0
      ? openReplicas(config, { pool, lanes }, processName, options.tenants, log)
      : { index: { pool: new ReadPool({ pool, lanes }), db }, reads: lanes }),
    chains: config.chains,
    rpc,
    auth: {
      keys: new KeyCache(db, config.keyPepper),
      limiter: new RateLimiter(pool),
      usage: new UsageCounter(pool, log),
      slots: new UploadSlots(),
    },
    relay: createRelay(),
    content: openContentStore(config, db),
  };
}

function openReplicas(
  config: Config,
  primary: Server,
  processName: string,
  tenants: boolean,
  log: Logger,
): Pick<Services, "index" | "reads"> {
  const { urls, maxLagSeconds } = config.replicas;
  const report = (replica: string, trouble: ReplicaTrouble | null) =>
    trouble
      ? log.warn({ replica, trouble }, "a replica gets no reads; the others and the primary answer")
      : log.info({ replica }, "a replica answers reads");
  const options = { processName, tenants, maxLagSeconds, report };
  const replicas = urls.map((url, index) => new Replica(index + 1, url, options));
  const positions = new PrimaryPositions(config.databaseUrl, `mintyard-${processName}-probe`);
  const pool = new ReadPool(primary, replicas, positions);
  return { index: { pool, db: createDatabase(pool) }, reads: pool };
}
