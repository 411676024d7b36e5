import { ConfigError, readSwitch } from "../setting-words.ts";
import { count, type Env, read, url } from "./values.ts";

/** Where blocks are stored, if not in the data folder. */
export interface S3Settings {
  bucket: string;
  /** Prefix of all object keys: empty, or with a slash at its end. */
  prefix: string;
  region: string;
  /** Null: the AWS endpoint of the region. */
  endpoint: string | null;
  /** Whether the bucket is in the URL's path, not in its host name. */
  pathStyle: boolean;
  /** Null: the machine's own credentials (its AWS role, or a profile). */
  credentials: { accessKeyId: string; secretAccessKey: string; sessionToken?: string } | null;
  /** Most bytes of this machine's disk for cached copies; 0: no cache. */
  cacheBytes: number;
}

const wanted = "s3://bucket or s3://bucket/prefix is wanted; without it blocks lie in MINTYARD_DATA_DIR";

/**
 * @returns null when blocks are stored in the data folder.
 * @throws ConfigError with the variable's name.
 */
export function loadIpfsStore(env: Env): S3Settings | null {
  const text = env["IPFS_STORE"]?.trim();
  if (!text) return null;
  const [, bucket = "", path = ""] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(text) ?? [];
  if (bucket === "") throw new ConfigError(`IPFS_STORE: ${wanted}`);
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw new ConfigError("IPFS_STORE: a bucket's name has 3 to 63 small letters, digits, points and hyphens");
  const prefix = path.replace(/\/+$/, "");
  if (prefix !== "" && !prefix.split("/").every((part) => /^[A-Za-z0-9!_.*'()-]+$/.test(part) && !/^\.+$/.test(part)))
    throw new ConfigError("IPFS_STORE: a prefix has letters, digits and - _ . ! * ' ( ) between single slashes");
  const endpoint = read<string | null>(
    env,
    env["AWS_ENDPOINT_URL_S3"]?.trim() ? "AWS_ENDPOINT_URL_S3" : "AWS_ENDPOINT_URL",
    url,
    null,
  );
  return {
    bucket,
    prefix: prefix === "" ? "" : `${prefix}/`,
    region: readRegion(env),
    endpoint,
    pathStyle: readSwitch(env, "IPFS_S3_PATH_STYLE", endpoint !== null),
    credentials: readCredentials(env),
    cacheBytes: read(env, "IPFS_CACHE_BYTES", count, 1_073_741_824),
  };
}

function readRegion(env: Env): string {
  const region = env["AWS_REGION"]?.trim() || "us-east-1";
  if (!/^[a-z0-9-]{2,40}$/.test(region))
    throw new ConfigError("AWS_REGION: a region such as eu-central-1 is wanted, or auto where the store says so");
  return region;
}

function readCredentials(env: Env): S3Settings["credentials"] {
  const accessKeyId = env["AWS_ACCESS_KEY_ID"]?.trim();
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"]?.trim();
  if (!accessKeyId && !secretAccessKey) return null;
  if (!accessKeyId) throw new ConfigError("AWS_ACCESS_KEY_ID: missing, and AWS_SECRET_ACCESS_KEY is set");
  if (!secretAccessKey) throw new ConfigError("AWS_SECRET_ACCESS_KEY: missing, and AWS_ACCESS_KEY_ID is set");
  const sessionToken = env["AWS_SESSION_TOKEN"]?.trim();
  return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
}
