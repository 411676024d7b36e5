import { join, resolve } from "node:path";
import { z } from "zod";
import type { Chain } from "../chains.ts";
import { ConfigError, readLogLevel, readSwitch } from "../setting-words.ts";
import type { Traces } from "../telemetry/tracing.ts";
import { loadChains } from "./chain-settings.ts";
import { explainFailure } from "./explain-failure.ts";
import { loadFailpoints } from "./failpoints.ts";
import { loadPepper } from "./key-pepper.ts";
import { type HeavyTimes, loadHeavyTimes, loadReadLimits, type ReadLimits } from "./read-limits.ts";
import { loadSigning, type SigningConfig } from "./signing-settings.ts";
import {
  count,
  type Env,
  isProduction,
  percent,
  portNumber,
  positive,
  read,
  readDatabaseUrls,
  readRanges,
  units,
  url,
} from "./values.ts";

/** Everything the processes read from their environment, parsed once. See `.env.example` for each variable. */
export interface Config {
  /** Folder of every file the service writes. */
  dataDir: string;
  host: string;
  port: number;
  /** Base of URLs that point at this server, without a slash at the end. */
  publicUrl: string;
  databaseUrl: string;
  /** Logins of single processes, by process name; the others, and migrations, use `databaseUrl`. */
  databaseUrls: Partial<Record<string, string>>;
  /** Standbys that the HTTP process reads the index from, and how old what they say may be. */
  replicas: { urls: readonly string[]; maxLagSeconds: number };
  /** False: the HTTP process works under its login, and only use cases keep tenants apart. */
  rowSecurity: boolean;
  /** Longest transaction of an analyst; a worker ends the session of a longer one. */
  analystTransactionSeconds: number;
  /** Key material for the digests of API keys; without it a stolen table of digests is useless. */
  keyPepper: string;
  /** A UUID accepted as an enterprise key; set on embedded parts only. */
  devApiKey: string | null;
  chains: readonly Chain[];
  signing: SigningConfig;
  ipfs: {
    /** Base of the `ipfs_url` in answers, without a slash at the end. */
    gatewayBase: string;
    /** Gateways asked for content that this installation does not hold, best first. */
    fetchGateways: readonly string[];
    /** Whether our gateway asks them too; otherwise what is not stored here is 404. */
    gatewayFetch: boolean;
    /** How fast a worker reads stored content again, 0 for never, and after how many days anew. */
    check: { bytesPerSecond: number; days: number };
    pinata: {
      jwt: string;
      uploadUrl: string | null;
      endpointUrl: string | null;
      legacyUploadUrl: string | null;
    } | null;
    /** RPC interface of a kubo node; `authorization` is the whole header. Pinata or kubo, not both. */
    kubo: { url: string; authorization: string | null } | null;
  };
  /** Marks from which on nothing more is kept, in bytes; 0: no such mark. */
  disk: {
    /** Free on the file system of the data folder. */
    minFreeBytes: number;
    /** Size of the database, whose disk may be elsewhere. */
    databaseBytes: number;
    /** Uploads and presale lists of all accounts of tier free together. */
    freeAccountsBytes: number;
  };
  /** Seconds between two audits of the RPC endpoints and records of what became final, by each indexer. */
  rpcCheckSeconds: number;
  /** Share of an indexer's requests that is spent on comparing final blocks with another endpoint; 0: none are compared. */
  rpcSamplePercent: number;
  /** Calls per second that one HTTP process makes of a chain's node for readers, such as `eligibility`, and as many for accounts. */
  readerCallsPerSecond: number;
  /** Most transactions that all accounts together may ask for in an hour, on all chains. */
  globalHourTransactions: number;
  /** Per cent of what a chain may spend that free accounts may use together. */
  freeShare: number;
  /** What all free accounts may cost together in gas in a day, on all chains, in millionths of a euro. */
  freeDayMicroEur: bigint;
  /** What `armFailpoints` takes: crashes for the relay's chaos run only; null anywhere else. */
  failpoints: string | null;
  limits: {
    fileBytes: number;
    directoryFiles: number;
    directoryBytes: number;
    directoryFileBytes: number;
    jsonBodyBytes: number;
  };
  /** Accounts that one block of addresses may open in an hour; 0: only the operator opens accounts. */
  signUpsPerHour: number;
  /** Accounts that may be opened in a day (any 24 hours); one block of addresses gets a twentieth. */
  signUpsPerDay: number;
  /** False: a gateway in front of this service limits rates; plans' monthly quotas hold all the same. */
  rateLimits: boolean;
  /** Requests that one process works on at a time; a further one is refused at once. */
  maxRequestsInFlight: number;
  readLimits: ReadLimits;
  heavyTimes: HeavyTimes;
  /** Reads that may touch many rows and run at once, of one process, two at least; free accounts have half. Further ones wait. */
  maxHeavyReads: number;
  /** The database lies on this machine, under this login: its processes for such reads have the processor after everybody else. */
  heavyReadsLowPriority: boolean;
  /** Addresses of reverse proxies whose `X-Forwarded-For` is believed, as CIDR ranges. */
  trustedProxies: readonly string[];
  /** Whether the schema is shown to whoever asks, or to callers with a key. */
  introspection: "open" | "key";
  /** Metadata may be read from private and loopback hosts; for closed networks and tests only. */
  allowPrivateFetch: boolean;
  /**
   * Endpoints of webhooks may be at private and loopback hosts; for closed networks and development. They are sent nothing
   * until they have answered a challenge.
   */
  webhooks: { allowPrivate: boolean; handshake: boolean };
  /** Days that events, and what was sent of them, are kept. */
  eventDays: number;
  /** Bounds of one worker process; what third parties' servers and contracts may take of it. */
  metadata: {
    /** Tokens that are read at the same time. One contract gets a twentieth of them. */
    concurrency: number;
    /** Requests to one host at the same time. */
    perHost: number;
    /** Tokens of one contract whose reading asks servers, per minute. What this installation holds is free. */
    perContractMinute: number;
    /** A third party's contract that announces changes has its tokens read again once in this time. */
    refreshWindowSeconds: number;
    /** Tokens of a contract that are read before anybody looked at it. */
    firstTokens: number;
    /** Gas and returned bytes that a call of a contract may cost at most. */
    callGas: number;
    callBytes: number;
  };
  /** Blocks that an index may be behind its node until that is called a trouble. */
  maxIndexLagBlocks: number;
  /** The worker and the indexer serve `/metrics` on this port (0: not); the token opens it, and the API's. */
  metrics: { host: string; port: number; token: string | null };
  /** Where OpenTelemetry traces go, and the share of requests that are traced; null: nowhere. */
  traces: Traces | null;
  logLevel: string;
  /** On SIGTERM: how long to serve on while `/readyz` says 503, and how long answers under way may then take. */
  shutdown: { delayMs: number; graceMs: number };
}

/**
 * Parses the environment of one process.
 *
 * @throws ConfigError naming the first variable that is missing or wrong. Secrets are never in its text.
 */
export function loadConfig(env: Env = process.env): Config {
  const databaseUrl = env["DATABASE_URL"]?.trim();
  if (!databaseUrl)
    throw new ConfigError(
      "DATABASE_URL: missing; set it, or run `npm start` for an embedded database, with the same MINTYARD_DATA_DIR",
    );
  if (!/^postgres(ql)?:\/\//.test(databaseUrl) || !URL.canParse(databaseUrl))
    throw new ConfigError("DATABASE_URL: postgres://login:password@host:5432/database is wanted");
  const port = read(env, "PORT", portNumber, 3000);
  const devApiKey = read<string | null>(env, "MINTYARD_API_KEY", z.uuid(), null);
  const dataDir = resolve(env["MINTYARD_DATA_DIR"]?.trim() || ".mintyard");
  const pinataJwt = env["PINATA_JWT"]?.trim();
  const chains = loadChains(env);
  const kuboUrl = read<string | null>(env, "KUBO_RPC_URL", url, null);
  if (pinataJwt && kuboUrl) throw new ConfigError("KUBO_RPC_URL: PINATA_JWT is set too; pin with one of them");
  return {
    dataDir,
    host: env["HOST"]?.trim() || "127.0.0.1",
    port,
    publicUrl: read(env, "PUBLIC_URL", url, `http://127.0.0.1:${port}`),
    databaseUrl,
    databaseUrls: Object.fromEntries(
      ["api", "worker", "indexer"].flatMap((name) => {
        const own = env[`DATABASE_URL_${name.toUpperCase()}`]?.trim();
        return own ? [[name, own]] : [];
      }),
    ),
    replicas: {
      urls: readDatabaseUrls(env, "DATABASE_REPLICA_URLS"),
      maxLagSeconds: read(env, "REPLICA_MAX_LAG_SECONDS", positive, 5),
    },
    rowSecurity: readSwitch(env, "DATABASE_ROW_SECURITY", true),
    analystTransactionSeconds: read(env, "ANALYST_TRANSACTION_SECONDS", positive, 300),
    keyPepper: loadPepper(env),
    devApiKey: devApiKey?.toLowerCase() ?? null,
    chains,
    signing: loadSigning(env, dataDir),
    disk: {
      minFreeBytes: read(env, "MIN_FREE_DISK_BYTES", count, 536_870_912),
      databaseBytes: read(env, "DATABASE_MAX_BYTES", count, 0),
      freeAccountsBytes: read(env, "FREE_ACCOUNTS_MAX_BYTES", count, 107_374_182_400),
    },
    rpcCheckSeconds: read(env, "RPC_CHECK_SECONDS", positive, 3_600),
    rpcSamplePercent: read(env, "RPC_SAMPLE_PERCENT", percent, 1),
    readerCallsPerSecond: read(env, "READER_CALLS_PER_SECOND", positive, 50),
    globalHourTransactions: read(env, "BUDGET_GLOBAL_HOUR", count, 5_000),
    freeDayMicroEur: read(env, "FREE_ACCOUNTS_DAY_EUR", units(6), 25n * 10n ** 6n),
    freeShare: read(env, "BUDGET_FREE_SHARE", percent, 25),
    failpoints: loadFailpoints(env, chains),
    ipfs: {
      gatewayBase: read(env, "IPFS_GATEWAY_URL", url, "https://ipfs.io/ipfs"),
      fetchGateways: (env["IPFS_FETCH_GATEWAYS"] ?? "")
        .split(",")
        .map((item) => item.trim())
        .filter(Boolean),
      gatewayFetch: readSwitch(env, "IPFS_GATEWAY_FETCH", false),
      check: {
        bytesPerSecond: read(env, "IPFS_CHECK_BYTES_PER_SECOND", count, 1_048_576),
        days: read(env, "IPFS_CHECK_DAYS", positive, 30),
      },
      pinata: pinataJwt
        ? {
            jwt: pinataJwt,
            uploadUrl: read<string | null>(env, "PINATA_UPLOAD_URL", url, null),
            endpointUrl: read<string | null>(env, "PINATA_ENDPOINT_URL", url, null),
            legacyUploadUrl: read<string | null>(env, "PINATA_LEGACY_UPLOAD_URL", url, null),
          }
        : null,
      kubo: kuboUrl ? { url: kuboUrl, authorization: env["KUBO_RPC_AUTHORIZATION"]?.trim() || null } : null,
    },
    limits: {
      fileBytes: read(env, "MAX_FILE_BYTES", count, 20_971_520),
      directoryFiles: read(env, "MAX_DIRECTORY_FILES", count, 25_000),
      directoryBytes: read(env, "MAX_DIRECTORY_BYTES", count, 52_428_800),
      directoryFileBytes: read(env, "MAX_DIRECTORY_FILE_BYTES", count, 1_048_576),
      jsonBodyBytes: read(env, "MAX_JSON_BODY_BYTES", count, 8_388_608),
    },
    signUpsPerHour: readSwitch(env, "SIGN_UP", true) ? read(env, "SIGN_UPS_PER_HOUR", count, 20) : 0,
    signUpsPerDay: read(env, "SIGN_UPS_PER_DAY", positive, 1_000),
    rateLimits: readSwitch(env, "RATE_LIMITS", true),
    maxRequestsInFlight: read(env, "MAX_REQUESTS_IN_FLIGHT", count, 1_000),
    readLimits: loadReadLimits(env),
    heavyTimes: loadHeavyTimes(env),
    maxHeavyReads: read(env, "MAX_HEAVY_READS", positive, 2),
    heavyReadsLowPriority: readSwitch(env, "HEAVY_READS_LOW_PRIORITY", false),
    trustedProxies: readRanges(env, "TRUSTED_PROXIES"),
    introspection: isProduction(env) ? "key" : "open",
    allowPrivateFetch: readSwitch(env, "METADATA_ALLOW_PRIVATE", false),
    webhooks: {
      allowPrivate: readSwitch(env, "WEBHOOKS_ALLOW_PRIVATE", false),
      handshake: readSwitch(env, "WEBHOOK_HANDSHAKE", true),
    },
    eventDays: read(env, "EVENT_DAYS", positive, 7),
    metadata: {
      concurrency: read(env, "METADATA_CONCURRENCY", positive, 64),
      perHost: read(env, "METADATA_PER_HOST", positive, 4),
      perContractMinute: read(env, "METADATA_PER_CONTRACT_MINUTE", positive, 20),
      refreshWindowSeconds: read(env, "METADATA_REFRESH_WINDOW_SECONDS", count, 60),
      firstTokens: read(env, "METADATA_FIRST_TOKENS", count, 100),
      callGas: read(env, "METADATA_CALL_GAS", positive, 50_000_000),
      callBytes: read(env, "METADATA_CALL_BYTES", positive, 1_048_576),
    },
    maxIndexLagBlocks: read(env, "MAX_INDEX_LAG_BLOCKS", count, 50),
    metrics: {
      host: env["METRICS_HOST"]?.trim() || "127.0.0.1",
      port: read(env, "METRICS_PORT", portNumber, 0),
      token: env["METRICS_TOKEN"]?.trim() || null,
    },
    traces: loadTraces(env),
    logLevel: readLogLevel(env),
    shutdown: {
      delayMs: read(env, "SHUTDOWN_DELAY_MS", count, 0),
      graceMs: read(env, "SHUTDOWN_GRACE_MS", count, 3_000),
    },
  };
}

function loadTraces(env: Env): Config["traces"] {
  const endpoint = read<string | null>(env, "OTEL_EXPORTER_OTLP_ENDPOINT", url, null);
  const share = z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, "a number from 0 to 1 is wanted")
    .transform(Number);
  return endpoint === null ? null : { endpoint, ratio: read(env, "OTEL_TRACES_SAMPLER_ARG", share, 1) };
}

/** Where the content-addressed archives lie. */
export function ipfsDir(config: Config): string {
  return join(config.dataDir, "ipfs");
}

/** Why this process or command ended, for its operator (src/config/explain-failure.ts). */
export function describeFailure(error: unknown): string {
  return explainFailure(error, process.env);
}

/** The level of the log before the configuration is read, which may be what is wrong. */
export function earlyLogLevel(): string {
  return process.env["LOG_LEVEL"] === "debug" ? "debug" : "info";
}
