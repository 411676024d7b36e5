import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { withConnection } from "../connection.ts";
import { copyOut } from "./copy-table.ts";

/** What a backup contains in addition to its files of rows. */
export interface Manifest {
  format: 1;
  takenAt: string;
  /** The migrations that the rows' tables were made by, with their digests. */
  migrations: { name: string; digest: string }[];
  tables: { name: string; rows: number }[];
}

/** The store of uploaded archives: copies them into a folder of the backup, and back. */
export interface Archives {
  copyOut(folder: string): Promise<void>;
  copyIn(folder: string): Promise<void>;
}

/**
 * Tables that are left out: those that the next start fills itself, and those that describe this database and not a
 * restored one. Unlogged tables are left out too, because backups are also taken from standbys, which cannot read them.
 */
const left = [
  ...["migration", "last_backup"],
  // Events are kept for days only. A client that resumes a stream after a restore learns that it missed some.
  ...["event", "event_new", "event_index", "event_interest", "event_retraction", "event_withdrawn"],
  ...["webhook_delivery", "webhook_try"],
];

/**
 * Writes everything that cannot be rebuilt into a folder: schema `service` as of one moment, and the archives of all
 * uploads. The index is left out, because it is rebuilt from the chains. The service may be running.
 *
 * @param folder is created; must be empty.
 * @returns `recorded`: the database has recorded the time, for `mintyard_backup_age_seconds`. A standby cannot.
 * @throws Error when the folder is not empty, before anything is written.
 */
export async function takeBackup(
  databaseUrl: string,
  archives: Archives,
  folder: string,
): Promise<Manifest & { recorded: boolean }> {
  const held = await readdir(folder).catch((): string[] => []);
  if (held.length > 0)
    throw new Error(
      `${folder} holds ${held.includes("manifest.json") ? "a backup" : "files"} already: name a new folder`,
    );
  // The rows have names, e-mail addresses and digests of keys: only the owner may read them, whatever the umask.
  await mkdir(join(folder, "service"), { recursive: true, mode: 0o700 });
  for (const path of [folder, join(folder, "service")]) await chmod(path, 0o700);
  const run = withConnection(databaseUrl, "backup", async (client) => {
    // One snapshot, so that rows that refer to each other are from the same moment.
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const takenAt = new Date();
    const { rows: migrations } = await client.query("SELECT name, digest FROM service.migration ORDER BY name");
    const tables = [];
    for (const name of await tableNames(client)) tables.push({ name, rows: await copyOut(client, name, folder) });
    await client.query("COMMIT");
    // After the snapshot: archives are only ever added, so every archive that a row names exists by now.
    await archives.copyOut(join(folder, "ipfs"));
    const manifest: Manifest = { format: 1, takenAt: takenAt.toISOString(), migrations, tables };
    // Last: a folder without a manifest is a backup that was interrupted.
    await writeFile(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`, {
      flag: "wx",
      mode: 0o600,
    });
    return { ...manifest, recorded: await recordBackup(client, takenAt) };
  });
  return await run.catch((error: NodeJS.ErrnoException) => {
    // The error of a write to a full disk does not name the folder.
    if (error.code === "ENOSPC") error.path = folder;
    throw error;
  });
}

async function tableNames(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'service'::regnamespace AND c.relkind IN ('r', 'p')
       AND c.relpersistence = 'p' AND NOT c.relispartition AND c.relname <> ALL ($1) ORDER BY 1`,
    [left],
  );
  return rows.map(({ name }) => name);
}

/**
 * Records in the database that a backup was taken, for `mintyard_backup_age_seconds`.
 *
 * @returns false: this server takes no writes, or the login may not write. The backup is complete all the same.
 */
async function recordBackup(client: pg.ClientBase, takenAt: Date): Promise<boolean> {
  return await client.query("SELECT service.record_backup($1)", [takenAt]).then(
    () => true,
    () => false,
  );
}
