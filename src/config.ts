import { join, resolve } from "node:path";
import ipaddr from "ipaddr.js";
import { type Address, getAddress, type Hash, type Hex, parseUnits } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";
import { type Chain, defaultRelayPolicy, knownChains, type RelayPolicy } from "./chains.ts";

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
  /** False: the HTTP process works under its login, and only use cases keep tenants apart. */
  rowSecurity: boolean;
  /** Key material for the digests of API keys; without it a stolen table of digests is useless. */
  keyPepper: string;
  /** A UUID accepted as an enterprise key; set on embedded parts only. */
  devApiKey: string | null;
  chains: readonly Chain[];
  ipfs: {
    /** Base of the `ipfs_url` in answers, without a slash at the end. */
    gatewayBase: string;
    /** Gateways asked for content that this installation does not hold, best first. */
    fetchGateways: readonly string[];
    pinata: {
      jwt: string;
      uploadUrl: string | null;
      endpointUrl: string | null;
      legacyUploadUrl: string | null;
    } | null;
    /** RPC interface of a kubo node; `authorization` is the whole header. Pinata or kubo, not both. */
    kubo: { url: string; authorization: string | null } | null;
  };
  /** Seconds between two audits of the RPC endpoints and notes of what became final, by each indexer. */
  rpcCheckSeconds: number;
  /** Most transactions that all accounts together may ask for in an hour, on all chains. */
  globalHourTransactions: number;
  /** Deliberate faults, for the relay's chaos run only; null anywhere else. */
  chaos: { crash: string; defects: string } | null;
  limits: {
    fileBytes: number;
    directoryFiles: number;
    directoryBytes: number;
    directoryFileBytes: number;
    jsonBodyBytes: number;
  };
  /** Accounts that one address may open in an hour; 0: only the operator opens accounts. */
  signUpsPerHour: number;
  /** False: a gateway in front of this service limits rates; plans' monthly quotas hold all the same. */
  rateLimits: boolean;
  /** Requests that one process works on at a time; a further one is refused at once. */
  maxRequestsInFlight: number;
  /** Addresses of reverse proxies whose `X-Forwarded-For` is believed, as CIDR ranges. */
  trustedProxies: readonly string[];
  /** Whether the schema is told to whoever asks, or to callers with a key. */
  introspection: "open" | "key";
  /** Metadata may be read from private and loopback hosts; for closed networks and tests only. */
  allowPrivateFetch: boolean;
  /** Bounds of one worker process; what strangers' servers and contracts may take of it. */
  metadata: {
    /** Tokens that are read at the same time. One contract gets a twentieth of them. */
    concurrency: number;
    /** Requests to one host at the same time. */
    perHost: number;
    /** Tokens of one contract whose reading asks servers, per minute. What this installation holds is free. */
    perContractMinute: number;
    /** A stranger's contract that announces changes has its tokens read again once in this time. */
    refreshWindowSeconds: number;
  };
  /** Blocks that an index may be behind its node until that is called a trouble. */
  maxIndexLagBlocks: number;
  /** The worker and the indexer serve `/metrics` on this port (0: not); the token opens it, and the API's. */
  metrics: { host: string; port: number; token: string | null };
  /** Where OpenTelemetry traces go, and the share of requests that are traced; null: nowhere. */
  traces: { endpoint: string; ratio: number } | null;
  logLevel: string;
  /** On SIGTERM: how long to serve on while `/readyz` says 503, and how long answers under way may then take. */
  shutdown: { delayMs: number; graceMs: number };
}

/** A wrong variable: names it, says what came and what would do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const wholeNumber = (text: string) => /^\d{1,15}$/.test(text);
const count = z.string().refine(wholeNumber, "a whole number is wanted").transform(Number);
const positive = count.refine((value) => value > 0, "a number above zero is wanted");
const url = z.url({ protocol: /^https?$/ }).transform((text) => text.replace(/\/+$/, ""));
const hexKey = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, "32 bytes of hex are wanted")
  .transform((text): Hex => `0x${text.replace(/^0x/, "")}`);
const keyList = z.string().transform((text, context) =>
  text.split(",").map((part): Hex => {
    const parsed = hexKey.safeParse(part.trim());
    if (!parsed.success) context.addIssue("32 bytes of hex are wanted, several separated by commas");
    return parsed.data ?? "0x";
  }),
);
/** In the chain's own coin, or another unit of so many decimals. */
const units = (decimals: number) =>
  z
    .string()
    .regex(new RegExp(`^\\d{1,15}(\\.\\d{1,${decimals}})?$`), "a decimal number is wanted")
    .transform((text) => parseUnits(text, decimals));
const hash32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, "0x and 64 hex digits are wanted")
  .transform((text) => text.toLowerCase() as Hash);
const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "an address is wanted: 0x and 40 hex digits")
  .transform((text) => getAddress(text.toLowerCase()));

const indexScope = z
  .string()
  .regex(
    /^(all|factory|0x[0-9a-fA-F]{40}(\s*,\s*0x[0-9a-fA-F]{40})*)$/,
    "all, factory or a list of addresses is wanted",
  )
  .transform((text): Chain["indexScope"] =>
    text === "all" || text === "factory"
      ? text
      : text
          .toLowerCase()
          .split(",")
          .map((item) => item.trim() as Address)
          .sort(),
  );

type Env = Record<string, string | undefined>;

function read<T>(env: Env, name: string, schema: z.ZodType<T, string>, fallback: T): T {
  const text = env[name]?.trim();
  if (text === undefined || text === "") return fallback;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  // The value itself may be a secret.
  throw new ConfigError(`${name}: ${parsed.error.issues[0]?.message ?? "not usable"}`);
}

/**
 * Parses the environment of one process.
 *
 * @throws ConfigError naming the first variable that is missing or wrong. Secrets are never in its text.
 */
export function loadConfig(env: Env = process.env): Config {
  const databaseUrl = env["DATABASE_URL"]?.trim();
  if (!databaseUrl) throw new ConfigError("DATABASE_URL: missing; set it, or run `npm start` for an embedded database");
  const port = read(env, "PORT", count, 3000);
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
    rowSecurity: env["DATABASE_ROW_SECURITY"] !== "off",
    keyPepper: env["KEY_PEPPER"]?.trim() || "mintyard-embedded",
    devApiKey: devApiKey?.toLowerCase() ?? null,
    chains,
    rpcCheckSeconds: read(env, "RPC_CHECK_SECONDS", positive, 3_600),
    globalHourTransactions: read(env, "BUDGET_GLOBAL_HOUR", count, 5_000),
    chaos: loadChaos(env, chains),
    ipfs: {
      gatewayBase: read(env, "IPFS_GATEWAY_URL", url, "https://ipfs.io/ipfs"),
      fetchGateways: (env["IPFS_FETCH_GATEWAYS"] ?? "")
        .split(",")
        .map((item) => item.trim())
        .filter(Boolean),
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
    signUpsPerHour: env["SIGN_UP"] === "off" ? 0 : read(env, "SIGN_UPS_PER_HOUR", count, 20),
    rateLimits: env["RATE_LIMITS"] !== "off",
    maxRequestsInFlight: read(env, "MAX_REQUESTS_IN_FLIGHT", count, 1_000),
    trustedProxies: readRanges(env, "TRUSTED_PROXIES"),
    introspection: env["NODE_ENV"] === "production" ? "key" : "open",
    allowPrivateFetch: env["METADATA_ALLOW_PRIVATE"] === "true",
    metadata: {
      concurrency: read(env, "METADATA_CONCURRENCY", positive, 64),
      perHost: read(env, "METADATA_PER_HOST", positive, 4),
      perContractMinute: read(env, "METADATA_PER_CONTRACT_MINUTE", positive, 20),
      refreshWindowSeconds: read(env, "METADATA_REFRESH_WINDOW_SECONDS", count, 60),
    },
    maxIndexLagBlocks: read(env, "MAX_INDEX_LAG_BLOCKS", count, 50),
    metrics: {
      host: env["METRICS_HOST"]?.trim() || "127.0.0.1",
      port: read(env, "METRICS_PORT", count, 0),
      token: env["METRICS_TOKEN"]?.trim() || null,
    },
    traces: loadTraces(env),
    logLevel: env["LOG_LEVEL"]?.trim() || "info",
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

function readRanges(env: Env, name: string): string[] {
  const ranges = (env[name] ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean)
    .map((item) => (item.includes("/") ? item : `${item}/${item.includes(":") ? 128 : 32}`));
  for (const range of ranges)
    if (!ipaddr.isValidCIDR(range)) throw new ConfigError(`${name}: ${range} is neither an address nor a range`);
  return ranges;
}

/** Crash points and seeded defects exist to prove that the chaos run can fail: nobody's money may be near. */
function loadChaos(env: Env, chains: readonly Chain[]): Config["chaos"] {
  const crash = env["MINTYARD_CHAOS_CRASH"]?.trim() ?? "";
  const defects = env["MINTYARD_CHAOS_DEFECTS"]?.trim() ?? "";
  if (!crash && !defects) return null;
  const known = new Set(Object.values(knownChains).map(({ id }) => id));
  const harmless = (chain: Chain) => chain.local && !known.has(chain.id) && chain.rpcUrls.every(isLoopback);
  if (env["NODE_ENV"] === "production" || !chains.every(harmless))
    throw new ConfigError("MINTYARD_CHAOS_…: deliberate faults are for local chains only; unset it");
  return { crash, defects };
}

function isLoopback(text: string): boolean {
  const { hostname } = new URL(text);
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/**
 * The chains this process serves: each name with an `RPC_URL_<NAME>`.
 * `CHAIN_ID_<NAME>` makes any further EVM chain known.
 */
export function loadChains(env: Env): Chain[] {
  const names = Object.keys(env)
    .filter((name) => name.startsWith("RPC_URL_") && env[name]?.trim())
    .map((name) => name.slice("RPC_URL_".length));
  const order = Object.keys(knownChains);
  const rank = (name: string) => (order.indexOf(name) + order.length + 1) % (order.length + 1);
  return names
    .map((suffix) => loadChain(env, suffix))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.name.localeCompare(b.name));
}

function loadChain(env: Env, suffix: string): Chain {
  const name = suffix.toLowerCase();
  const known = knownChains[name];
  const id = read(env, `CHAIN_ID_${suffix}`, count, known?.id ?? 0);
  if (id === 0) throw new ConfigError(`CHAIN_ID_${suffix}: missing; ${name} is not a chain whose id is known`);
  const rpcUrls = (env[`RPC_URL_${suffix}`] ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
  for (const item of rpcUrls)
    if (!/^(https?|wss?):\/\//.test(item))
      throw new ConfigError(`RPC_URL_${suffix}: each entry must be an http(s) or ws(s) URL`);
  const factory = read<Address | null>(env, `FACTORY_${suffix}`, evmAddress, null);
  const [relayerKey = null, ...moreKeys] = read<Hex[]>(env, `RELAYER_KEY_${suffix}`, keyList, []);
  for (const key of relayerKey ? [relayerKey, ...moreKeys] : []) checkKey(key, suffix);
  const local = env[`LOCAL_${suffix}`] === "true";
  return {
    name,
    id,
    local,
    rpcUrls,
    explorerTxUrl: read(env, `EXPLORER_TX_URL_${suffix}`, url, known?.explorerTxUrl ?? `https://blockscan.com/tx`),
    factory: factory && {
      address: factory.toLowerCase() as Address,
      block: BigInt(read(env, `FACTORY_BLOCK_${suffix}`, count, 0)),
    },
    relayerKey,
    relay: { ...loadRelayPolicy(env, suffix, id, local), moreKeys },
    confirmations: read(env, `CONFIRMATIONS_${suffix}`, count, known?.confirmations ?? 12),
    startBlock: read(env, `START_BLOCK_${suffix}`, count, 0),
    indexScope: read<Chain["indexScope"]>(env, `INDEX_SCOPE_${suffix}`, indexScope, "all"),
    verification: read<Chain["verification"]>(
      env,
      `VERIFY_${suffix}`,
      z.enum(["proofs", "logs", "off"]),
      env[`LOCAL_${suffix}`] === "true" ? "proofs" : "logs",
    ),
    requestsPerSecond: read(env, `RPC_RATE_${suffix}`, count, 0),
    paidTierOnly: (env[`PAID_TIER_ONLY_${suffix}`] ?? String(known?.paidTierOnly ?? false)) === "true",
  };
}

function loadRelayPolicy(env: Env, suffix: string, id: number, local: boolean): RelayPolicy {
  const defaults = defaultRelayPolicy(id, local);
  const finality = z.union([z.literal("tag"), count], "`tag` or a number of blocks is wanted");
  const passwordFile = env[`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}`]?.trim() ?? "";
  const paths = (env[`RELAYER_KEYSTORE_${suffix}`] ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
  if (paths.length > 0 && !passwordFile)
    throw new ConfigError(`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}: missing; it names the file with the password`);
  return {
    ...defaults,
    keystores: paths.map((path) => ({ path, passwordFile })),
    maxFeeWei: read(env, `MAX_FEE_GWEI_${suffix}`, units(9), defaults.maxFeeWei),
    bumpAfterBlocks: read(env, `BUMP_AFTER_BLOCKS_${suffix}`, count, defaults.bumpAfterBlocks),
    finality: read<"tag" | number>(env, `FINALITY_${suffix}`, finality, defaults.finality),
    quorum: read(env, `RPC_QUORUM_${suffix}`, count, defaults.quorum),
    genesisHash: read<Hash | null>(env, `GENESIS_HASH_${suffix}`, hash32, null),
    tenantDayWei: read(env, `BUDGET_TENANT_DAY_${suffix}`, units(18), defaults.tenantDayWei),
    chainHourWei: read(env, `BUDGET_CHAIN_HOUR_${suffix}`, units(18), defaults.chainHourWei),
  };
}

function checkKey(key: Hex, suffix: string): void {
  try {
    privateKeyToAddress(key);
  } catch {
    throw new ConfigError(`RELAYER_KEY_${suffix}: not a usable secp256k1 key`);
  }
}

/** Where the content-addressed archives lie. */
export function ipfsDir(config: Config): string {
  return join(config.dataDir, "ipfs");
}

/** Every value of a configuration that must appear in no log, answer or metric. */
export function secretsOf(config: Config): string[] {
  const passwords = [config.databaseUrl, ...Object.values(config.databaseUrls)].flatMap((text) =>
    text && URL.canParse(text) ? [decodeURIComponent(new URL(text).password)] : [],
  );
  const chains = config.chains.flatMap(({ relayerKey, rpcUrls, local }) => [
    ...(relayerKey ? [relayerKey, relayerKey.slice(2)] : []),
    // Of a provider's URL the path and query are the account's key.
    ...(local ? [] : rpcUrls.flatMap((url) => [new URL(url).pathname.slice(1), new URL(url).search.slice(1)])),
  ]);
  return [
    config.keyPepper,
    config.devApiKey ?? "",
    config.metrics.token ?? "",
    config.ipfs.pinata?.jwt ?? "",
    ...passwords,
    ...chains,
  ].filter((secret) => secret.length >= 8 && secret !== "mintyard-embedded");
}
