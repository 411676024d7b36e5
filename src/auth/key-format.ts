import { createHmac, randomInt, randomUUID } from "node:crypto";
import { crc32 } from "node:zlib";
import { ServiceError } from "../errors/errors.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Published, so that secret scanners can detect leaked keys: prefix, 178 random bits, CRC-32. */
export const secretPattern = /^mty_(live|test|session)_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$/;
const nil = "00000000-0000-0000-0000-000000000000";
const maxKeyLength = 128;
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export const sessionPrefix = "mty_session_";

/** A new session secret: the value of the cookie. */
export function newSessionSecret(): string {
  return newSecret(sessionPrefix);
}

/** Both spellings of a new key: the secret, and a UUID for clients that accept nothing else. */
export function newSpellings(): { secret: string; uuid: string } {
  return { secret: newSecret("mty_live_"), uuid: randomUUID() };
}

function newSecret(prefix: string): string {
  const text = prefix + Array.from({ length: 30 }, () => base62[randomInt(62)]).join("");
  return text + checksum(text);
}

/**
 * Reads the key from the values of an `Authorization` header: one value, the raw key or `Bearer <key>`.
 *
 * @throws ServiceError `authorization_missing` without a header, `invalid_api_key` for two headers or anything that is
 * not shaped like a key, also for a wrong checksum. The database is not asked.
 */
export function parseAuthorization(values: readonly string[]): string {
  const given = values.map((value) => value.trim()).filter(Boolean);
  if (given.length === 0) {
    throw new ServiceError("authorization_missing", "send your API key in the Authorization header");
  }
  const key = given.length === 1 ? canonicalKey((given[0] ?? "").replace(/^Bearer\s+/i, "")) : null;
  if (key) return key;
  throw new ServiceError(
    "invalid_api_key",
    "the Authorization header must hold one API key: the key that begins with mty_, or its UUID, without a scheme",
  );
}

function canonicalKey(text: string): string | null {
  if (text.length > maxKeyLength) return null;
  const secret = secretPattern.exec(text);
  if (secret) return checksum(text.slice(0, -6)) === secret[3] ? text : null;
  const lower = text.toLowerCase();
  return uuid.test(lower) && lower !== nil ? lower : null;
}

function checksum(text: string): string {
  let value = crc32(text);
  let digits = "";
  for (let index = 0; index < 6; index += 1) {
    digits = base62[value % 62] + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}

/**
 * The stored digest of a canonical key. HMAC, not a slow hash: keys are random, so they cannot be guessed, and a slow
 * hash would only help an attacker to load the service.
 */
export function keyDigest(pepper: string, key: string): Buffer {
  return createHmac("sha256", pepper).update(key).digest();
}
