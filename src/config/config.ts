import { join, resolve } from "node:path";
import { z } from "zod";
import type { Chain } from "../chains.ts";
import { ConfigError, readLogLevel, readSwitch } from "../setting-words.ts";
import { defaultSocket, readEndpoint, readToken } from "../signing/endpoint.ts";
import { readWeb3Signer } from "../signing/signer-config.ts";
import type { Traces } from "../telemetry/tracing.ts";
import { loadChains } from "./chain-settings.ts";
import { explainFailure } from "./explain-failure.ts";
import { loadFailpoints } from "./failpoints.ts";
import { loadIpfsStore } from "./ipfs-store.ts";
import { loadHeavyTimes, loadReadLimits } from "./read-limits.ts";
import {
  count,
  type Env,
  isDatabaseUrl,
  isProduction,
  percent,
  portNumber,
  positive,
  read,
  readDatabaseUrls,
  readList,
  readRanges,
  readWith,
  units,
  url,
} from "./values.ts";

/** The result of `loadConfig`. See `.env.example` for each variable. */
export type Config = ReturnType<typeof loadConfig>;

/**
 * Parses the environment of one process.
 *
 * @throws ConfigError naming the first variable that is missing or wrong. Secrets are never in its text.
 */
export function loadConfig(env: Env = process.env) {
  const databaseUrl = env["DATABASE_URL"]?.trim();
  if (!databaseUrl)
    throw new ConfigError(
      "DATABASE_URL: missing; set it, or run `npm start` for an embedded database, with the same MINTYARD_DATA_DIR",
    );
  if (!isDatabaseUrl(databaseUrl))
    throw new ConfigError("DATABASE_URL: postgres://login:password@host:5432/database is wanted");
  const port = read(env, "PORT", portNumber, 3000);
  const devApiKey = read<string | null>(env, "MINTYARD_API_KEY", z.uuid(), null);
  const dataDir = resolve(env["MINTYARD_DATA_DIR"]?.trim() || ".mintyard");
  const pinataJwt = env["PINATA_JWT"]?.trim();
  const chains: readonly Chain[] = loadChains(env);
  const kuboUrl = read<string | null>(env, "KUBO_RPC_URL", url, null);
  if (pinataJwt && kuboUrl) throw new ConfigError("KUBO_RPC_URL: PINATA_JWT is set too; pin with one of them");
  return {
    /** Folder of all files that the service writes. */
    dataDir,
    host: env["HOST"]?.trim() || "127.0.0.1",
    port,
    /** Base of URLs that point at this server, without a slash at the end. */
    publicUrl: read(env, "PUBLIC_URL", url, `http://127.0.0.1:${port}`),
    databaseUrl,
    /** Logins of individual processes, by process name; the others, and migrations, use `databaseUrl`. */
    databaseUrls: Object.fromEntries(
      ["api", "worker", "indexer"].flatMap((name) => {
        const own = env[`DATABASE_URL_${name.toUpperCase()}`]?.trim();
        return own ? [[name, own]] : [];
      }),
    ) as Partial<Record<string, string>>,
    /** Standbys that the HTTP process reads the index from, and how stale their data may be. */
    replicas: {
      urls: readDatabaseUrls(env, "DATABASE_REPLICA_URLS"),
      maxLagSeconds: read(env, "REPLICA_MAX_LAG_SECONDS", positive, 5),
    },
    /** Whether another server may take over automatically from the one in `databaseUrl`. */
    databaseFailover: readSwitch(env, "DATABASE_FAILOVER", false),
    /** False: the HTTP process keeps its own database role, and only use cases keep tenants apart. */
    rowSecurity: readSwitch(env, "DATABASE_ROW_SECURITY", true),
    /** Longest transaction of an analyst; a worker ends the session of a longer one. */
    analystTransactionSeconds: read(env, "ANALYST_TRANSACTION_SECONDS", positive, 300),
    /** Key material for the digests of API keys; without it a stolen table of digests is useless. */
    keyPepper: loadPepper(env),
    /** A UUID accepted as an enterprise key; set for embedded parts only. */
    devApiKey: devApiKey?.toLowerCase() ?? null,
    chains,
    signing: loadSigning(env, dataDir),
    /** Thresholds beyond which nothing more is stored, in bytes; 0: no threshold. */
    disk: {
      /** Least free space on the data folder's file system. */
      minFreeBytes: read(env, "MIN_FREE_DISK_BYTES", count, 536_870_912),
      /** Largest size of the database, whose disk may be elsewhere. */
      databaseBytes: read(env, "DATABASE_MAX_BYTES", count, 0),
      /** Largest total of uploads and presale lists of all free-tier accounts. */
      freeAccountsBytes: read(env, "FREE_ACCOUNTS_MAX_BYTES", count, 107_374_182_400),
    },
    /** Seconds between two runs of each indexer's audit of the RPC endpoints and record of finalized blocks. */
    rpcCheckSeconds: read(env, "RPC_CHECK_SECONDS", positive, 3_600),
    /** Share of an indexer's requests that compare final blocks with another endpoint; 0: no comparison. */
    rpcSamplePercent: read(env, "RPC_SAMPLE_PERCENT", percent, 1),
    /** Calls per second of one HTTP process to a chain's node for readers (`eligibility`), and as many for accounts. */
    readerCallsPerSecond: read(env, "READER_CALLS_PER_SECOND", positive, 50),
    /** Most transactions that all accounts may request in an hour, in total on all chains. */
    globalHourTransactions: read(env, "BUDGET_GLOBAL_HOUR", count, 5_000),
    /** Most gas that all free accounts may cost in a day, in total on all chains, in millionths of a euro. */
    freeDayMicroEur: read(env, "FREE_ACCOUNTS_DAY_EUR", units(6), 25n * 10n ** 6n),
    /** Per cent of a chain's spending limit that all free accounts may use in total. */
    freeShare: read(env, "BUDGET_FREE_SHARE", percent, 25),
    /** Argument of `armFailpoints`: crashes for the relay's chaos run; null anywhere else. */
    failpoints: loadFailpoints(env, chains),
    ipfs: {
      /** S3 settings, when blocks are stored there; null: blocks are in the data folder. */
      store: loadIpfsStore(env),
      /** Base of the `ipfs_url` in answers, without a slash at the end. */
      gatewayBase: read(env, "IPFS_GATEWAY_URL", url, "https://ipfs.io/ipfs"),
      /** Gateways to fetch content from that this installation does not have, best first. */
      fetchGateways: readList(env, "IPFS_FETCH_GATEWAYS"),
      /** Whether our gateway fetches from them too; otherwise content that is not stored here is 404. */
      gatewayFetch: readSwitch(env, "IPFS_GATEWAY_FETCH", false),
      /** The rate at which a worker re-reads stored content (0: never), and after how many days again. */
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
      /** RPC interface of a kubo node; `authorization` is the whole header. Either Pinata or kubo. */
      kubo: kuboUrl ? { url: kuboUrl, authorization: env["KUBO_RPC_AUTHORIZATION"]?.trim() || null } : null,
    },
    /** Size of the disk cache of picture previews, in bytes; 0: no previews. */
    thumbnailCacheBytes: read(env, "THUMBNAIL_CACHE_BYTES", count, 1_073_741_824),
    limits: {
      fileBytes: read(env, "MAX_FILE_BYTES", count, 20_971_520),
      directoryFiles: read(env, "MAX_DIRECTORY_FILES", count, 25_000),
      directoryBytes: read(env, "MAX_DIRECTORY_BYTES", count, 52_428_800),
      directoryFileBytes: read(env, "MAX_DIRECTORY_FILE_BYTES", count, 1_048_576),
      jsonBodyBytes: read(env, "MAX_JSON_BODY_BYTES", count, 8_388_608),
    },
    /** Accounts that one block of addresses may open per hour; 0: only the operator opens accounts. */
    signUpsPerHour: readSwitch(env, "SIGN_UP", true) ? read(env, "SIGN_UPS_PER_HOUR", count, 20) : 0,
    /** Accounts that may be opened in any 24 hours; one block of addresses gets a twentieth. */
    signUpsPerDay: read(env, "SIGN_UPS_PER_DAY", positive, 1_000),
    /** False: a gateway in front of this service limits rates; plans' monthly quotas still apply. */
    rateLimits: readSwitch(env, "RATE_LIMITS", true),
    /** Whether accounts can see their requests of the last day. */
    requestLog: readSwitch(env, "REQUEST_LOG", true),
    /** Requests that one process handles at a time; further ones are refused at once. */
    maxRequestsInFlight: read(env, "MAX_REQUESTS_IN_FLIGHT", count, 1_000),
    readLimits: loadReadLimits(env),
    heavyTimes: loadHeavyTimes(env),
    /** Concurrent reads of one process that may touch many rows, at least two, half for free accounts. Others wait. */
    maxHeavyReads: read(env, "MAX_HEAVY_READS", positive, 2),
    /** Whether the database is on this machine under this login; lowers the CPU priority of such reads. */
    heavyReadsLowPriority: readSwitch(env, "HEAVY_READS_LOW_PRIORITY", false),
    /** Reverse proxies whose `X-Forwarded-For` is trusted, as CIDR ranges. */
    trustedProxies: readRanges(env, "TRUSTED_PROXIES"),
    /** Public id of a WalletConnect project, whose relay mint pages use to reach wallets; null: no WalletConnect. */
    walletConnectProject: read<string | null>(env, "WALLETCONNECT_PROJECT_ID", projectId, null),
    /** Whether anyone may read the schema, or only callers with a key. */
    introspection: isProduction(env) ? ("key" as const) : ("open" as const),
    /** Whether metadata may be read from private and loopback hosts; for closed networks and tests only. */
    allowPrivateFetch: readSwitch(env, "METADATA_ALLOW_PRIVATE", false),
    /**
     * Whether webhook endpoints may be at private and loopback hosts; for closed networks and development. An endpoint
     * gets no events until it has answered a challenge.
     */
    webhooks: {
      allowPrivate: readSwitch(env, "WEBHOOKS_ALLOW_PRIVATE", false),
      handshake: readSwitch(env, "WEBHOOK_HANDSHAKE", true),
    },
    /** Days that events, and records of their deliveries, are kept. */
    eventDays: read(env, "EVENT_DAYS", positive, 7),
    /** Bounds of one worker process on what third parties' servers and contracts may use. */
    metadata: {
      /** Tokens read at the same time. One contract gets a twentieth of them. */
      concurrency: read(env, "METADATA_CONCURRENCY", positive, 64),
      /** Concurrent requests to one host. */
      perHost: read(env, "METADATA_PER_HOST", positive, 4),
      /** Tokens of one contract read from servers per minute. Content stored by this installation does not count. */
      perContractMinute: read(env, "METADATA_PER_CONTRACT_MINUTE", positive, 20),
      /** When a third party's contract announces changes, its tokens are read again once within this time at most. */
      refreshWindowSeconds: read(env, "METADATA_REFRESH_WINDOW_SECONDS", count, 60),
      /** Tokens of a contract that are read before anybody has looked at it. */
      firstTokens: read(env, "METADATA_FIRST_TOKENS", count, 100),
      /** Limits of one contract call: gas, and bytes returned. */
      callGas: read(env, "METADATA_CALL_GAS", positive, 50_000_000),
      callBytes: read(env, "METADATA_CALL_BYTES", positive, 1_048_576),
    },
    /** Blocks that an index may be behind its node before this counts as a problem. */
    maxIndexLagBlocks: read(env, "MAX_INDEX_LAG_BLOCKS", count, 50),
    /** The worker and the indexer serve `/metrics` on this port (0: disabled); the token is also for the API's. */
    metrics: {
      host: env["METRICS_HOST"]?.trim() || "127.0.0.1",
      port: read(env, "METRICS_PORT", portNumber, 0),
      token: env["METRICS_TOKEN"]?.trim() || null,
    },
    /** Where OpenTelemetry traces go, and the share of requests that are traced; null: no traces. */
    traces: loadTraces(env),
    logLevel: readLogLevel(env),
    /** On SIGTERM: how long to keep serving while `/readyz` answers 503, and how long open requests may then take. */
    shutdown: {
      delayMs: read(env, "SHUTDOWN_DELAY_MS", count, 0),
      graceMs: read(env, "SHUTDOWN_GRACE_MS", count, 3_000),
    },
  };
}

function loadTraces(env: Env): Traces | null {
  const endpoint = read<string | null>(env, "OTEL_EXPORTER_OTLP_ENDPOINT", url, null);
  const share = z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, "a number from 0 to 1 is wanted")
    .transform(Number);
  return endpoint === null ? null : { endpoint, ratio: read(env, "OTEL_TRACES_SAMPLER_ARG", share, 1) };
}

/** Where transactions are signed: by a signer if configured, else by a Web3Signer, else with this process's keys. */
function loadSigning(env: Env, dataDir: string) {
  const token = (name: "SIGNER_TOKEN" | "SIGNER_ADMIN_TOKEN") => readWith(name, () => readToken(env, name, dataDir));
  return {
    signer: env["SIGNER_URL"]?.trim()
      ? {
          endpoint: readWith("SIGNER_URL", () => readEndpoint(env, "SIGNER_URL", defaultSocket(dataDir))),
          token: token("SIGNER_TOKEN"),
          /** Only for operators' commands; other processes may not read its file. */
          adminToken: token("SIGNER_ADMIN_TOKEN"),
        }
      : null,
    web3: readWith("WEB3SIGNER_URL", () => readWeb3Signer(env)),
  };
}

const projectId = z
  .string()
  .regex(/^[0-9a-fA-F]{32}$/, "32 hex digits are wanted, as the project's page shows them")
  .transform((text) => text.toLowerCase());

const publicPepper = "mintyard-embedded";

/**
 * Without a pepper of its own, an installation digests keys and signs cursors with a publicly known text. That is for
 * trials. Keys made with it stop working once a pepper is set, so production refuses to start without one.
 */
function loadPepper(env: Env): string {
  const pepper = env["KEY_PEPPER"]?.trim();
  if (!pepper && isProduction(env)) throw missingPepper();
  return pepper || publicPepper;
}

function missingPepper(): ConfigError {
  return new ConfigError(
    "KEY_PEPPER: missing; set a long random text (openssl rand -base64 32), and keep it: without it no API key works",
  );
}

/**
 * For everything that creates keys. `npm start` gives its parts a pepper; with another database, nobody has.
 *
 * @throws ConfigError when keys would be made with the publicly known text.
 */
export function requireOwnPepper({ keyPepper }: Pick<Config, "keyPepper">): void {
  if (keyPepper === publicPepper) throw missingPepper();
}

/** Every configured value that must not appear in a log, an answer or a metric. */
export function secretsOf(config: Config): string[] {
  const databases = [config.databaseUrl, ...Object.values(config.databaseUrls), ...config.replicas.urls];
  const nodes = config.chains.flatMap(({ rpcUrls }) => rpcUrls);
  const passwords = [...databases, ...nodes].flatMap((text) => {
    if (!text || !URL.canParse(text)) return [];
    const { password } = new URL(text);
    return [password, /%(?![0-9a-f]{2})/i.test(password) ? "" : decodeURIComponent(password)];
  });
  const chains = config.chains.flatMap(({ relayerKey, relay, rpcUrls, local }) => [
    ...[...(relayerKey ? [relayerKey] : []), ...relay.moreKeys].flatMap((key) => [key, key.slice(2)]),
    // The path and query of a provider's URL contain the account's key.
    ...(local ? [] : rpcUrls.flatMap((url) => [new URL(url).pathname.slice(1), new URL(url).search.slice(1)])),
  ]);
  return [
    config.keyPepper,
    config.devApiKey ?? "",
    config.metrics.token ?? "",
    ...[config.signing.signer?.token, config.signing.signer?.adminToken].map((token) =>
      token && "value" in token ? token.value : "",
    ),
    config.ipfs.pinata?.jwt ?? "",
    config.ipfs.kubo?.authorization ?? "",
    config.ipfs.store?.credentials?.secretAccessKey ?? "",
    config.ipfs.store?.credentials?.sessionToken ?? "",
    ...passwords,
    ...chains,
  ].filter((secret) => secret.length >= 8 && secret !== publicPepper);
}

/** Folder of the content-addressed archives. With `IPFS_STORE`, only of those being written and of cached copies. */
export function ipfsDir(config: Config): string {
  return join(config.dataDir, "ipfs");
}

/** Why this process or command ended, worded for its operator (src/config/explain-failure.ts). */
export function describeFailure(error: unknown): string {
  return explainFailure(error, process.env);
}

/** The log level before the configuration is read, since that may be what fails. */
export function earlyLogLevel(): string {
  return process.env["LOG_LEVEL"] === "debug" ? "debug" : "info";
}
