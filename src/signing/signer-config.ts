import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Address, Hex } from "viem";
import { parseUnits } from "viem/utils";
import { defaultRelayPolicy, knownChains } from "../chains.ts";
import { readLogLevel, readSwitch, readWord } from "../setting-words.ts";
import { defaultSocket, type Endpoint, readEndpoint, readToken, type Token, tokenOf } from "./endpoint.ts";
import type { SigningPolicy } from "./rules.ts";
import type { Web3SignerAccess } from "./signer-client.ts";

/*
 * The environment of the signer's process. It has a small reader of its own: the service's reader
 * (src/config/config.ts) loads four times the memory that signing takes, and needs a database.
 */

type Env = Readonly<Record<string, string | undefined>>;

/** The keys of a chain's wallets, and their policy. */
export interface ChainKeys {
  /** Lower case. */
  chain: string;
  policy: SigningPolicy;
  keys: readonly Hex[];
  /** V3 key files and the files with their passwords. */
  keystores: readonly { path: string; passwordFile: string }[];
}

export interface SignerConfig {
  listen: Endpoint;
  /** The socket's mode: 0600, or 0660 where the callers run as another user of its group. */
  socketMode: number;
  token: string;
  adminToken: string;
  /** The file that records what was signed today. */
  spendingFile: string;
  chains: readonly ChainKeys[];
  /** Keys that are kept elsewhere; the rules are enforced here all the same. */
  web3Signer: Web3SignerAccess | null;
  logLevel: string;
}

/** @throws Error naming the first variable that is missing or invalid. Its text never contains a secret. */
export function loadSignerConfig(env: Env = process.env): SignerConfig {
  const dataDir = resolve(env["MINTYARD_DATA_DIR"]?.trim() || ".mintyard");
  const web3Signer = readWeb3Signer(env);
  const chains = suffixes(env).map((suffix) => loadChainKeys(env, suffix, web3Signer !== null));
  if (chains.length === 0)
    throw new Error("RELAYER_KEY_FILE_<CHAIN>: missing; a signer without a key has nothing to do");
  const mode = readWord(env, "SIGNER_SOCKET_MODE", ["600", "660"], "600");
  return {
    listen: readEndpoint(env, "SIGNER_LISTEN", defaultSocket(dataDir)),
    socketMode: Number.parseInt(mode, 8),
    token: ownToken(readToken(env, "SIGNER_TOKEN", dataDir)),
    adminToken: ownToken(readToken(env, "SIGNER_ADMIN_TOKEN", dataDir)),
    spendingFile: join(dataDir, "signer-spending.json"),
    chains,
    web3Signer,
    logLevel: readLogLevel(env),
  };
}

/** @throws Error for an address that is not http(s), or an unknown method. */
export function readWeb3Signer(env: Env): Web3SignerAccess | null {
  const url = env["WEB3SIGNER_URL"]?.trim().replace(/\/+$/, "");
  if (!url) return null;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new Error("WEB3SIGNER_URL: http://… or https://… is wanted");
  const method = readWord(env, "WEB3SIGNER_METHOD", ["sign", "transaction"], "sign");
  const timeoutMs = Number(env["WEB3SIGNER_TIMEOUT_MS"]?.trim() || 5_000);
  // The wallet's row is locked during a request.
  if (!(Number.isSafeInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= 10_000))
    throw new Error("WEB3SIGNER_TIMEOUT_MS: a number from 1 to 10000 is wanted");
  return { url, method, timeoutMs };
}

/** Private keys from a list in a variable or a file. @throws Error naming the variable. */
export function parseKeys(name: string, text: string): Hex[] {
  return text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((part): Hex => {
      if (!/^(0x)?[0-9a-fA-F]{64}$/.test(part)) throw new Error(`${name}: 32 bytes of hex are wanted`);
      return `0x${part.replace(/^0x/, "")}`;
    });
}

/** @throws Error naming the variable. */
export function parseAddresses(name: string, text: string | undefined): Address[] {
  const parts = (text ?? "")
    .split(",")
    .map((part) => part.trim().toLowerCase())
    .filter(Boolean);
  if (!parts.every((part) => /^0x[0-9a-f]{40}$/.test(part)))
    throw new Error(`${name}: an address is wanted: 0x and 40 hex digits, several separated by commas`);
  return parts as Address[];
}

const keyVariable = /^RELAYER_(?:KEY_FILE|KEYSTORE_PASSWORD_FILE|KEYSTORE|KEY|ADDRESS)_([A-Z0-9_]+)$/;

/** The chains that have wallets; this process knows none of their endpoints. */
function suffixes(env: Env): string[] {
  const named = Object.keys(env).flatMap((name) => {
    const suffix = keyVariable.exec(name)?.[1];
    return suffix && env[name]?.trim() ? [suffix] : [];
  });
  return [...new Set(named)].sort();
}

function loadChainKeys(env: Env, suffix: string, keysElsewhere: boolean): ChainKeys {
  const chain = suffix.toLowerCase();
  const chainId = Number(env[`CHAIN_ID_${suffix}`]?.trim() || knownChains[chain]?.id || 0);
  if (!Number.isSafeInteger(chainId) || chainId <= 0)
    throw new Error(`CHAIN_ID_${suffix}: missing; ${chain} is not a chain whose id is known`);
  const keyFile = env[`RELAYER_KEY_FILE_${suffix}`]?.trim();
  const keys = [
    ...parseKeys(`RELAYER_KEY_${suffix}`, env[`RELAYER_KEY_${suffix}`] ?? ""),
    ...(keyFile ? parseKeys(`RELAYER_KEY_FILE_${suffix}`, readFileSync(keyFile, "utf8")) : []),
  ];
  const passwordFile = env[`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}`]?.trim() ?? "";
  const paths = (env[`RELAYER_KEYSTORE_${suffix}`] ?? "")
    .split(",")
    .map((path) => path.trim())
    .filter(Boolean);
  if (paths.length > 0 && !passwordFile)
    throw new Error(`RELAYER_KEYSTORE_PASSWORD_FILE_${suffix}: missing; it names the file with the password`);
  const wallets = keysElsewhere ? parseAddresses(`RELAYER_ADDRESS_${suffix}`, env[`RELAYER_ADDRESS_${suffix}`]) : [];
  return {
    chain,
    policy: {
      chainId,
      maxFeeWei: readMaxFee(env, suffix, chainId),
      factories: readAddresses(env, `FACTORY_${suffix}`, `FACTORIES_BEFORE_${suffix}`),
      operators: readAddresses(env, `OPERATOR_${suffix}`, `OPERATORS_BEFORE_${suffix}`),
      wallets,
      roles: readSignsRoles(env, suffix),
      dayWei: readDay(env, suffix, chainId),
    },
    keys: keysElsewhere ? [] : keys,
    keystores: keysElsewhere ? [] : paths.map((path) => ({ path, passwordFile })),
  };
}

/** Whether role lists are signed: on a local chain, or if the operator says so. @throws Error naming the variable. */
export function readSignsRoles(env: Env, suffix: string): boolean {
  return readSwitch(env, `SIGN_ROLES_${suffix}`, readSwitch(env, `LOCAL_${suffix}`, false));
}

/** The day's limit; by default, what the relay may spend in a day. */
function readDay(env: Env, suffix: string, chainId: number): bigint {
  for (const name of [`SIGNER_DAY_${suffix}`, `BUDGET_CHAIN_DAY_${suffix}`]) {
    const text = env[name]?.trim();
    if (!text) continue;
    if (!/^\d{1,15}(\.\d{1,18})?$/.test(text)) throw new Error(`${name}: a decimal number is wanted`);
    return parseUnits(text, 18);
  }
  return defaultRelayPolicy(chainId, readSwitch(env, `LOCAL_${suffix}`, false)).chainDayWei;
}

function readMaxFee(env: Env, suffix: string, chainId: number): bigint {
  const text = env[`MAX_FEE_GWEI_${suffix}`]?.trim();
  if (!text) return defaultRelayPolicy(chainId, readSwitch(env, `LOCAL_${suffix}`, false)).maxFeeWei;
  if (!/^\d{1,15}(\.\d{1,9})?$/.test(text)) throw new Error(`MAX_FEE_GWEI_${suffix}: a decimal number is wanted`);
  return parseUnits(text, 9);
}

/** Requests keep the factory or operator that they were accepted with, so earlier ones may still be called. */
function readAddresses(env: Env, ...names: string[]): Address[] {
  // For API and worker, an operator's address may be followed by the block of its deployment.
  return names.flatMap((name) => parseAddresses(name, env[name]?.replaceAll(/:\d+/g, "")));
}

/** The token; created at the first start when none is given. */
function ownToken(token: Token): string {
  if ("file" in token) {
    mkdirSync(dirname(token.file), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(token.file, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  return tokenOf(token);
}
