import type { Env } from "./values.ts";

/**
 * Why a process or a command ended, in one sentence with the setting and what to do about it. Never includes a
 * password, a key, or the path of an endpoint's URL, which may be a key.
 *
 * @param env the process's configuration; only names of hosts, databases and logins are taken from it.
 */
export function explainFailure(error: unknown, env: Env): string {
  if (!(error instanceof Error)) return String(error);
  const causes = causesOf(error);
  for (const cause of causes) {
    const words = explainDatabase(cause, env) ?? explainSystem(cause) ?? explainRpc(cause);
    if (words !== null) return words;
  }
  return causes.map(({ message }) => message.split("\n")[0]).join(": because ");
}

interface Known extends Error {
  code?: string;
  severity?: string;
  syscall?: string;
  address?: string;
  hostname?: string;
  port?: number;
  path?: string;
  shortMessage?: string;
  details?: string;
}

/** The error, its cause, that one's cause; of an aggregate (an error for each address of a host) the first. */
function causesOf(error: Error): Known[] {
  const causes: Known[] = [];
  for (let next: unknown = error; next instanceof Error && causes.length < 8; ) {
    const [first] = next instanceof AggregateError ? next.errors : [];
    causes.push(first instanceof Error ? (first as Known) : next);
    next = next.cause;
  }
  return causes;
}

function explainDatabase(error: Known, env: Env): string | null {
  const target = databaseOf(env["DATABASE_URL"]);
  if (!target) return null;
  const { host, port, login, database } = target;
  const isOurs =
    (error.address === host || error.hostname === host || isLoopback(host)) && String(error.port ?? port) === port;
  const unreached = ["ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "EHOSTUNREACH", "EAI_AGAIN"].includes(error.code ?? "");
  if (unreached && isOurs)
    return `PostgreSQL at ${host}:${port} does not answer (${error.code}): start it, or correct DATABASE_URL`;
  if (/SSL/.test(error.message) && /server does not support SSL/i.test(error.message))
    return `PostgreSQL at ${host}:${port} speaks no TLS: remove sslmode from DATABASE_URL, or turn TLS on there`;
  if (error.severity === undefined) return null;
  switch (error.code) {
    case "28P01":
    case "28000":
      return `PostgreSQL at ${host}:${port} refuses the login ${login}: correct user and password in DATABASE_URL`;
    case "3D000":
      return (
        `there is no database ${database} at ${host}:${port}: correct DATABASE_URL, or an administrator runs ` +
        `CREATE DATABASE "${database}" OWNER "${login}"`
      );
    case "42501":
      return (
        `the login ${login} lacks a right in database ${database} (${error.message}): let it own the database, ` +
        `as an administrator: ALTER DATABASE "${database}" OWNER TO "${login}"`
      );
    case "53300":
      return `PostgreSQL at ${host}:${port} takes no more connections: raise max_connections there, or run fewer processes`;
    case "53100":
      return `the disk of PostgreSQL at ${host}:${port} is full: make room there; nothing was half-written`;
    case "25006":
      return `DATABASE_URL names a standby (${host}:${port}), which takes no writes: name the primary`;
    case "57P03":
      return `PostgreSQL at ${host}:${port} is starting or stopping: try again in a moment`;
    default:
      return null;
  }
}

function databaseOf(url: string | undefined) {
  if (!url || !URL.canParse(url)) return null;
  const { hostname, port, username, pathname } = new URL(url);
  return {
    host: hostname || "localhost",
    port: port || "5432",
    login: decodeURIComponent(username) || "(none)",
    database: decodeURIComponent(pathname.slice(1)) || decodeURIComponent(username),
  };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

function explainSystem(error: Known): string | null {
  const at = error.path ?? "";
  switch (error.code) {
    case "EADDRINUSE":
      return (
        `port ${error.port} of ${error.address ?? "this machine"} is taken: end what listens there, or set another ` +
        "(PORT for the API, METRICS_PORT for metrics)"
      );
    case "EACCES":
    case "EPERM":
    case "EROFS":
      if (error.syscall === "listen") return `port ${error.port} needs more rights: set PORT to one above 1023`;
      return `${at} cannot be written or read (${error.code}): give it to the user that runs this, or set MINTYARD_DATA_DIR`;
    case "ENOSPC":
    case "EDQUOT":
      return at
        ? `the disk of ${at} is full: make room there, or name a place on another disk`
        : "the disk of MINTYARD_DATA_DIR is full: make room, or set MINTYARD_DATA_DIR to a larger one";
    case "EADDRNOTAVAIL":
      return `this machine has no address ${error.address}: set HOST to one of its own, or to 0.0.0.0 for all`;
    case "ENOENT":
      return error.path ? `there is no file ${at}: correct the setting or the argument that names it` : null;
    case "EEXIST":
      return error.syscall === "mkdir"
        ? `${at} is a file, and a folder is wanted: set MINTYARD_DATA_DIR to another`
        : null;
    case "ENOTDIR":
      return `${at} lies below a file: MINTYARD_DATA_DIR has to name a folder`;
    default:
      return null;
  }
}

/** viem's errors contain the URL and the whole request; their first line is enough. */
function explainRpc(error: Known): string | null {
  if (error.shortMessage === undefined) return null;
  const details = error.details?.split("\n")[0]?.slice(0, 200);
  if (/^HTTP request failed/.test(error.shortMessage) || /took too long/.test(error.shortMessage))
    return `no RPC endpoint gives a usable answer (${details ?? "no details"}): check RPC_URL_… and the node`;
  return details && details !== error.shortMessage
    ? `${error.shortMessage.split("\n")[0]} (${details})`
    : error.shortMessage;
}
