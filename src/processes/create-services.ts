import { join } from "node:path";
import { KeyCache } from "../auth/keys.ts";
import { RateLimiter } from "../auth/rate-limit.ts";
import { StreamPermits } from "../auth/stream-permits.ts";
import { UploadPermits } from "../auth/upload-permits.ts";
import { UsageCounter } from "../auth/usage.ts";
import { type Config, secretsOf } from "../config/config.ts";
import { DatabaseTime } from "../db/pool/database-time.ts";
import { DiskRoom } from "../db/pool/disk-room.ts";
import { openReads } from "../db/pool/open-reads.ts";
import { connectionOptions, createDatabase, createPool } from "../db/pool/pool.ts";
import { ReadPool, type Server } from "../db/pool/read-pool.ts";
import { PrimaryPositions, Replica, type ReplicaTrouble } from "../db/replicas/replica.ts";
import { openContentStore } from "../ipfs/content-store.ts";
import { MetadataDemand } from "../metadata/discover/metadata-demand.ts";
import { LinkedPictures, linkBounds } from "../metadata/pictures/linked-pictures.ts";
import { takeRefreshes } from "../nfts/refresh-metadata.ts";
import { createFetcher } from "../outbound/fetcher.ts";
import { HostLimits } from "../outbound/host-limits.ts";
import { EventFeed } from "../outbox/event-feed.ts";
import { AccountCalls } from "../rpc/account-calls.ts";
import { createRpcClients } from "../rpc/clients.ts";
import { ReaderCalls } from "../rpc/reader-calls.ts";
import type { Services } from "../services.ts";
import { addressesAlone, callersPolicy, inProcessSigning } from "../signing/in-process.ts";
import { signerProcess, web3Signer } from "../signing/signer-client.ts";
import type { SigningBackend } from "../signing/signing-backend.ts";
import { createLogger, type Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import { Thumbnails } from "../thumbnails/thumbnails.ts";
import { SignatureLooks } from "../transactions/accept/until-signed.ts";
import { createRelay } from "../transactions/relay.ts";
import { armFailpoints } from "../transactions/store/failpoint.ts";

interface ServiceOptions {
  /** Whether the database shows a request only its own account's rows. */
  tenants: boolean;
  /** Whether reads of the index go to `DATABASE_REPLICA_URLS`. Close `index.pool` too. */
  replicas?: boolean;
  /** Whether the process runs an operator's command, which may have roles granted to wallets. */
  operator?: boolean;
  /** Whether the process serves clients and has no access to signing. */
  withoutSigner?: boolean;
}

export function createServices(
  config: Config,
  processName: string,
  options: ServiceOptions = { tenants: false },
): Services {
  const databaseUrl = config.databaseUrls[processName] ?? config.databaseUrl;
  const pool = createPool(databaseUrl, processName, 10, options);
  const time = config.rateLimits ? new DatabaseTime(config.heavyTimes) : null;
  const reads = openReads(databaseUrl, processName, {
    ...{ tenants: options.tenants, limits: config.readLimits, time },
    ...{ heavyReads: config.maxHeavyReads, lowerPriority: config.heavyReadsLowPriority },
  });
  // For statements that every request waits for or may wait for: no flood of other statements may delay them.
  const admission = createPool(databaseUrl, `${processName}-admission`, 3, { tenants: options.tenants, reads: true });
  const primary: Server = { pool: admission, ...reads };
  const index = new ReadPool(primary);
  const db = createDatabase(pool);
  const rpc = createRpcClients();
  const log = createLogger(processName, config.logLevel, secretsOf(config));
  const relay = createRelay(
    options.withoutSigner ? addressesAlone() : openSigning(config, log, options.operator ?? false),
  );
  armFailpoints(config.failpoints);
  const logOnce = new LogOnce(log);
  const limiter = new RateLimiter(admission);
  const mayRetry = async (accountId: string) => !config.rateLimits || (await takeRefreshes(limiter, accountId)).allowed;
  const eventConnection = connectionOptions(databaseUrl, `${processName}-events`);
  const disk = new DiskRoom(config, pool, log);
  const thumbnails = new Thumbnails({
    folder: join(config.dataDir, "thumbnails"),
    mostBytes: config.thumbnailCacheBytes,
    hasRoom: async () => !(await disk.status()).full.includes("data_folder"),
    logOnce,
  });
  return {
    config,
    log,
    logOnce,
    pool,
    db,
    ...(options.replicas && config.replicas.urls.length > 0
      ? openReplicas(config, primary, { processName, tenants: options.tenants, time }, log)
      : { index: { pool: index, db: createDatabase(index) }, reads: reads.pipelined }),
    chains: config.chains,
    rpc,
    auth: {
      keys: new KeyCache(createDatabase(admission), config.keyPepper),
      limiter,
      usage: new UsageCounter(pool, log),
      permits: new UploadPermits(),
      streams: new StreamPermits(),
    },
    relay,
    readerCalls: new ReaderCalls((chain, calls) => relay.nodes(chain).first((node) => node.ask(calls)), {
      perSecond: config.readerCallsPerSecond,
      keptMs: 2_000,
    }),
    accountCalls: new AccountCalls(config.readerCallsPerSecond),
    signatures: new SignatureLooks(pool),
    content: openContentStore(config, db),
    thumbnails,
    linkedPictures: new LinkedPictures(
      thumbnails,
      createFetcher({ allowPrivate: config.allowPrivateFetch }, new HostLimits(linkBounds)),
    ),
    feed: new EventFeed({ pool, connection: eventConnection, chains: config.chains, logOnce }),
    disk,
    demand: new MetadataDemand(pool, log, mayRetry),
  };
}

function openReplicas(
  config: Config,
  primary: Server,
  { processName, tenants, time }: { processName: string; tenants: boolean; time: DatabaseTime | null },
  log: Logger,
): Pick<Services, "index" | "reads"> {
  const { urls, maxLagSeconds } = config.replicas;
  const report = (replica: string, trouble: ReplicaTrouble | null) =>
    trouble
      ? log.warn({ replica, trouble }, "a replica gets no reads; the others and the primary answer")
      : log.info({ replica }, "a replica answers reads");
  const reading = { heavyReads: config.maxHeavyReads, limits: config.readLimits, time };
  const options = { processName, tenants, ...reading, maxLagSeconds, report };
  const replicas = urls.map((url, index) => new Replica(index + 1, url, options));
  const positions = new PrimaryPositions(config.databaseUrl, `mintyard-${processName}-probe`);
  const pool = new ReadPool(primary, replicas, positions);
  return { index: { pool, db: createDatabase(pool) }, reads: pool };
}

/**
 * Where this process has its transactions signed: by the signer if one is configured, else by the Web3Signer, else with
 * its own keys.
 *
 * @param operator whether it runs an operator's command, which may grant roles.
 */
export function openSigning({ signing, chains }: Config, log: Logger, operator: boolean): SigningBackend {
  const { signer, web3 } = signing;
  if (signer) {
    const { endpoint, token, adminToken } = signer;
    return signerProcess({ endpoint, token: operator ? adminToken : token }, log);
  }
  if (!web3) return inProcessSigning(operator);
  const policyOf = (chainId: number) => {
    const chain = chains.find(({ id }) => id === chainId);
    if (!chain) throw new Error(`chain ${chainId} is not configured`);
    return callersPolicy(chain);
  };
  return web3Signer(web3, policyOf, log, operator);
}
