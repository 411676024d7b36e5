import ipaddr from "ipaddr.js";
import { type Address, type Hash, parseUnits } from "viem";
import { z } from "zod";
import { ConfigError, readWord } from "../setting-words.ts";

/* Parsers of variables. */

const wholeNumber = (text: string) => /^\d{1,15}$/.test(text);
export const count = z.string().refine(wholeNumber, "a whole number is wanted").transform(Number);
export const positive = count.refine((value) => value > 0, "a number above zero is wanted");
export const percent = count.refine((value) => value <= 100, "a number from 0 to 100 is wanted");
export const portNumber = count.refine((value) => value < 65_536, "a port below 65536 is wanted");
export const url = z
  .url({ protocol: /^https?$/, error: "a URL that begins with http:// or https:// is wanted" })
  .transform((text) => text.replace(/\/+$/, ""));
/** An amount in the chain's own coin, or another unit with so many decimals. */
export const units = (decimals: number) =>
  z
    .string()
    .regex(new RegExp(`^\\d{1,15}(\\.\\d{1,${decimals}})?$`), "a decimal number is wanted")
    .transform((text) => parseUnits(text, decimals));
export const hash32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, "0x and 64 hex digits are wanted")
  .transform((text) => text.toLowerCase() as Hash);
/** Returned in lower case. */
export const evmAddress = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, "an address is wanted: 0x and 40 hex digits")
  .transform((text) => text.toLowerCase() as Address);

export type Env = Record<string, string | undefined>;

/** @throws ConfigError with the variable's name, never its value, which may be a secret. */
export function read<T>(env: Env, name: string, schema: z.ZodType<T, string>, fallback: T): T {
  const text = env[name]?.trim();
  if (text === undefined || text === "") return fallback;
  const parsed = schema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new ConfigError(`${name}: ${parsed.error.issues[0]?.message ?? "not usable"}`);
}

/** Runs a reader whose errors lack the variable's name. @throws ConfigError with that name and the reader's text. */
export function readWith<T>(name: string, reader: () => T): T {
  try {
    return reader();
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigError(message.startsWith(name) ? message : `${name}: ${message}`);
  }
}

/** Production, by NODE_ENV, closes what is open in development. */
export function isProduction(env: Env): boolean {
  return readWord(env, "NODE_ENV", ["production", "development", "test"], "development") === "production";
}

/** Comma-separated items. */
export function readList(env: Env, name: string): string[] {
  return (env[name] ?? "")
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean);
}

/** Addresses and CIDR ranges, separated by commas. */
export function readRanges(env: Env, name: string): string[] {
  const ranges = readList(env, name).map((item) =>
    item.includes("/") ? item : `${item}/${item.includes(":") ? 128 : 32}`,
  );
  for (const range of ranges)
    if (!ipaddr.isValidCIDR(range)) throw new ConfigError(`${name}: ${range} is neither an address nor a range`);
  return ranges;
}

/** Connection strings of PostgreSQL, separated by commas. */
export function readDatabaseUrls(env: Env, name: string): string[] {
  const urls = readList(env, name);
  if (!urls.every(isDatabaseUrl)) throw new ConfigError(`${name}: postgres://… is wanted, several separated by commas`);
  return urls;
}

export function isDatabaseUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text);
}
