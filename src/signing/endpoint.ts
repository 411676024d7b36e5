import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** A signer's address: a Unix socket, or a URL without a trailing slash. */
export type Endpoint = { socketPath: string } | { url: string };

type Env = Readonly<Record<string, string | undefined>>;

/** The kernel's address for a socket path has 108 bytes, the last one zero. */
export const longestSocketPath = 107;

/**
 * The address at which the signer listens and is called: `unix:/path`, or `http://127.0.0.1:PORT`. Another machine is
 * refused: the token would cross the network in plain text.
 *
 * @throws Error naming the variable.
 */
export function readEndpoint(env: Env, name: "SIGNER_URL" | "SIGNER_LISTEN", fallback: string): Endpoint {
  const text = env[name]?.trim() || fallback;
  if (text.startsWith("unix:")) {
    const socketPath = text.slice("unix:".length);
    if (!isAbsolute(socketPath)) throw new Error(`${name}: the path after unix: has to be absolute`);
    if (Buffer.byteLength(socketPath) > longestSocketPath)
      throw new Error(`${name}: a socket's path has at most ${longestSocketPath} bytes; use a shorter one`);
    return { socketPath };
  }
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== "http:" || !url.port || url.pathname !== "/")
    throw new Error(`${name}: unix:/path or http://127.0.0.1:PORT is wanted`);
  if (!["127.0.0.1", "[::1]", "localhost"].includes(url.hostname))
    throw new Error(`${name}: the signer is asked on this machine only: unix:/path or http://127.0.0.1:PORT`);
  return { url: `http://${url.host}` };
}

/** Whether another process or a key service has the keys: then this process reads none. */
export function isSignedElsewhere(env: Env): boolean {
  return Boolean(env["SIGNER_URL"]?.trim() || env["WEB3SIGNER_URL"]?.trim());
}

/** Where the signer listens by default. */
export function defaultSocket(dataDir: string): string {
  return `unix:${join(dataDir, "signer.sock")}`;
}

/** A credential: a value, or a file that may not exist yet. */
export type Token = { value: string } | { file: string };

/** @throws Error for a token that is too short to be secret. */
export function readToken(env: Env, name: "SIGNER_TOKEN" | "SIGNER_ADMIN_TOKEN", dataDir: string): Token {
  const value = env[name]?.trim();
  const file = env[`${name}_FILE`]?.trim();
  if (value && value.length < 32)
    throw new Error(`${name}: at least 32 characters are wanted (openssl rand -base64 32)`);
  return value ? { value } : { file: file || join(dataDir, "keys", name.toLowerCase().replaceAll("_", "-")) };
}

/** @throws Error when the file cannot be read, or contains no token. */
export function tokenOf(token: Token): string {
  if ("value" in token) return token.value;
  const text = readFileSync(token.file, "utf8").trim();
  if (text.length < 32) throw new Error(`${token.file} holds no token of 32 characters`);
  return text;
}
