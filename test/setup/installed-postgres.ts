import { execFile, spawn } from "node:child_process";
import { chown, mkdir, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePorts } from "../../src/free-port.ts";

const run = promisify(execFile);

/**
 * Starts a PostgreSQL that is installed on this machine, in place of the one in the npm package.
 *
 * @param bin the folder of its programs; @param dir an empty folder for its files.
 * @param settings of the server.
 */
export async function startInstalledPostgres(
  bin: string,
  dir: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ url: string; stop(): Promise<void> }> {
  const isRoot = userInfo().uid === 0;
  const user: { uid?: number; gid?: number } = isRoot ? await userNamed("postgres") : {};
  const [data, passwordFile] = [join(dir, "data"), join(dir, "password")];
  await mkdir(data);
  await writeFile(passwordFile, "of-the-tests\n");
  const { uid, gid } = user;
  if (uid !== undefined && gid !== undefined) for (const path of [dir, data, passwordFile]) await chown(path, uid, gid);
  const flags = ["-U", "postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--encoding=UTF8", "--locale=C"];
  await run(join(bin, "initdb"), ["-D", data, ...flags, "--no-sync"], { ...user, cwd: "/" });
  const [port = 0] = await freePorts(1);
  const all = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "200", ...settings };
  const server = spawn(
    join(bin, "postgres"),
    ["-D", data, "-p", String(port), ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    { ...user, cwd: "/", stdio: ["ignore", "ignore", "inherit"] },
  );
  const ended = new Promise<void>((done) => server.once("exit", () => done()));
  const url = (database: string) => `postgres://postgres:of-the-tests@127.0.0.1:${port}/${database}`;
  while (!(await answers(url("postgres")))) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL of ${bin} ended with code ${server.exitCode}`);
    await new Promise((done) => setTimeout(done, 50));
  }
  const client = new pg.Client({ connectionString: url("postgres") });
  await client.connect();
  await client.query("CREATE DATABASE mintyard");
  await client.query("REVOKE CONNECT ON DATABASE postgres, template1 FROM PUBLIC");
  await client.end();
  return {
    url: url("mintyard"),
    stop: async () => {
      server.kill("SIGINT");
      await ended;
    },
  };
}

async function userNamed(name: string): Promise<{ uid: number; gid: number }> {
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, name])).stdout)),
  );
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  return await client.connect().then(
    async () => {
      await client.end();
      return true;
    },
    () => false,
  );
}
