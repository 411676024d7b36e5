import { execFile } from "node:child_process";
import { appendFile, cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { type EmbeddedPostgres, startServer } from "../../src/embedded/postgres.ts";

const run = promisify(execFile);
/** Of the primary alone; the log is streamed. */
const notCopied = new Set(["postmaster.pid", "postmaster.opts", "pg_wal"]);

/**
 * Makes a streaming standby of a running server as `pg_basebackup` would, which the npm package lacks: a copy
 * of its files between the start and the end of a backup, and where to read the log.
 *
 * @param from the primary's folder, as `startPostgres` was given it; @param to a folder that does not exist.
 */
export async function startStandby(
  primary: EmbeddedPostgres,
  from: string,
  to: string,
  port: number,
): Promise<EmbeddedPostgres> {
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  await mkdir(join(to, "data/pg_wal"), { recursive: true, mode: 0o700 });
  try {
    // What the primary has written since the copy began must not be recycled before it was streamed.
    await client.query("ALTER SYSTEM SET wal_keep_size = '2GB'");
    await client.query("SELECT pg_reload_conf()");
    await client.query("SELECT pg_backup_start('standby', true)");
    const names = (await readdir(join(from, "data"))).filter((name) => !notCopied.has(name));
    // Files come and go meanwhile; the log has what becomes of them.
    await run("cp", ["-a", ...names.map((name) => join(from, "data", name)), join(to, "data")]).catch(ignoreVanished);
    const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop(false)");
    await writeFile(join(to, "data/backup_label"), rows[0]?.labelfile ?? "");
  } finally {
    await client.end();
  }
  await cp(join(from, "password"), join(to, "password"));
  const { port: primaryPort, password } = new URL(primary.url);
  await appendFile(
    join(to, "data/postgresql.auto.conf"),
    `primary_conninfo = 'host=127.0.0.1 port=${primaryPort} user=postgres password=${password}'\n`,
  );
  await writeFile(join(to, "data/standby.signal"), "");
  await run("chown", ["-R", "--reference", join(from, "data"), to]);
  await run("chmod", ["700", join(to, "data")]);
  return await startServer(to, port);
}

function ignoreVanished(error: Error): void {
  const lines = error.message.split("\n").filter((line) => line.startsWith("cp: "));
  if (lines.length === 0 || !lines.every((line) => line.includes("No such file"))) throw error;
}
