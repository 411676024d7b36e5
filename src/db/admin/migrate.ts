import { hash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import pg from "pg";
import { withConnection } from "../connection.ts";
import { changeRelations, type LockWait } from "./change-relations.ts";
import { forServer } from "./postgresql-15.ts";

const ownFolder = new URL("../../../schema/migrations/", import.meta.url);
/** An arbitrary constant: two processes that start at the same time take turns. */
const lockKey = 7_241_903_155;

/** An older version cannot work with what a migration with this suffix leaves (docs/operations.md, "Upgrades"). */
const breaking = ".breaking.sql";

interface MigrateOptions {
  folder?: URL;
  lockWait?: LockWait;
  /** Applies only these: the migrations that another version had. */
  only?: ReadonlySet<string>;
  /** Called with the migrations of a newer version that the database has and this version can work with. */
  onNewer?: (names: readonly string[]) => void;
}

/** The oldest server version that the tests run on. */
const oldestServer = 150_000;

/** @returns the number of the server's version. */
async function requireServer(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ number: string; version: string }>(
    "SELECT current_setting('server_version_num') AS number, current_setting('server_version') AS version",
  );
  const [{ number, version } = { number: "0", version: "unknown" }] = rows;
  if (Number(number) < oldestServer)
    throw new Error(`PostgreSQL 15 or newer is wanted, and DATABASE_URL names ${version}: upgrade it, or name another`);
  return Number(number);
}

/**
 * Brings schema `service` up to the newest of `schema/migrations/NNNN_subject.sql`, in order, each in a transaction of
 * its own. Forward only: an applied file must never change. An analyst's session whose lock blocks a migration is
 * ended.
 *
 * @returns the names of the migrations applied now.
 * @throws Error for a server that is too old; when the file of an applied migration has changed; when a newer version
 * has changed the database so that this version cannot work with it; and when a session that is not an analyst's keeps
 * a lock for too long, with that session's details.
 */
export async function migrate(
  databaseUrl: string,
  { folder = ownFolder, lockWait, only, onNewer }: MigrateOptions = {},
): Promise<string[]> {
  return await withConnection(databaseUrl, "migrate", async (client) => {
    const server = await requireServer(client);
    await client.query("SELECT pg_advisory_lock($1)", [lockKey]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS service`);
    await client.query(`CREATE TABLE IF NOT EXISTS service.migration (
      name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    const { rows } = await client.query<{ name: string; digest: string }>("SELECT name, digest FROM service.migration");
    const applied = new Map(rows.map((row) => [row.name, row.digest]));
    const done: string[] = [];
    const files = await migrationNames(folder);
    refuseNewer([...applied.keys()].filter((name) => !files.includes(name)).sort(), onNewer);
    for (const name of files) {
      if (only && !only.has(name)) continue;
      const sql = await readFile(new URL(name, folder), "utf8");
      const digest = hash("sha256", sql);
      const before = applied.get(name);
      if (before === digest) continue;
      if (before !== undefined) throw new Error(`migration ${name} was changed after it ran; add a new one instead`);
      await apply(client, { name, sql: forServer(sql, server), digest }, lockWait);
      done.push(name);
    }
    return done;
  });
}

/** This version's migrations, in order. */
export async function migrationNames(folder = ownFolder): Promise<string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort();
}

function refuseNewer(names: readonly string[], onNewer: MigrateOptions["onNewer"]): void {
  const barrier = names.find((name) => name.endsWith(breaking));
  if (barrier)
    throw new Error(
      `the database in DATABASE_URL was changed by a newer version (migration ${barrier}) and this version cannot work ` +
        "with it: start the newer version, or restore a backup of this one into another database",
    );
  if (names.length > 0) onNewer?.(names);
}

async function apply(
  client: pg.Client,
  { name, sql, digest }: { name: string; sql: string; digest: string },
  lockWait?: LockWait,
): Promise<void> {
  const what = `migration ${name}`;
  const change = async () => {
    await client.query(sql);
    await client.query("INSERT INTO service.migration (name, digest) VALUES ($1, $2)", [name, digest]);
  };
  try {
    await changeRelations(client, what, change, lockWait ? { lockWait } : {});
  } catch (error) {
    if (error instanceof pg.DatabaseError) throw new Error(`${what} failed`, { cause: error });
    throw error;
  }
}
