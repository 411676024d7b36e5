import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { withConnection } from "../connection.ts";
import type { Archives, Manifest } from "./backup.ts";
import { copyIn } from "./copy-table.ts";
import { migrate, migrationNames } from "./migrate.ts";

/**
 * Fills a fresh database and data folder from a backup, which may be of an older version: the rows are loaded into that
 * version's tables, which are then migrated to this version. It works with the rights of the database's owner and no
 * more. A superuser acts as that owner, so that the service's own login can use what was restored.
 *
 * @param options.upgrade false keeps an older version's tables as they were.
 * @throws Error when the folder is no backup, the database already has accounts, the login may not act as the owner, or
 * the backup is of a newer version. The database then has no row of the backup.
 */
export async function restoreBackup(
  databaseUrl: string,
  archives: Archives,
  folder: string,
  { upgrade = true }: { upgrade?: boolean } = {},
): Promise<Manifest> {
  const manifest = await readManifest(folder);
  const url = await asOwner(databaseUrl);
  await requireKnown(manifest);
  await migrate(url, { only: new Set(manifest.migrations.map(({ name }) => name)) });
  await withConnection(url, "restore", async (client) => {
    const { rows: here } = await client.query("SELECT name, digest FROM service.migration ORDER BY name");
    if (JSON.stringify(here) !== JSON.stringify(manifest.migrations))
      throw new Error(
        "this version has prepared the database already, and the backup is of an older one: restore into a database that " +
          "no process has used yet (CREATE DATABASE), and name it in DATABASE_URL",
      );
    await client.query("BEGIN");
    await requireEmpty(client);
    await putRowsBack(client, manifest, folder);
    await client.query("COMMIT");
  });
  if (upgrade) await migrate(url);
  if ((await readdir(folder)).includes("ipfs")) await archives.copyIn(join(folder, "ipfs"));
  return manifest;
}

/**
 * The backup's own migrations make the tables for its rows; migrations of later versions are applied afterwards.
 *
 * @throws Error when this version does not have one of the named migrations.
 */
async function requireKnown({ migrations }: Manifest): Promise<void> {
  const known = await migrationNames();
  const missing = migrations.find(({ name }) => !known.includes(name));
  if (missing)
    throw new Error(
      `the backup is of a newer version (it has migration ${missing.name}): restore it with that version or a later one`,
    );
}

async function readManifest(folder: string): Promise<Manifest> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as Manifest;
    if (Array.isArray(manifest.migrations) && Array.isArray(manifest.tables)) return manifest;
    throw new Error("not of ours");
  } catch {
    throw new Error(`${folder} holds no whole backup: a backup has a manifest.json, which is written last`);
  }
}

/**
 * The login's URL. For a superuser, it also has the role of the database's owner.
 *
 * @throws Error when the database is not empty, or the login may not create a schema there.
 */
async function asOwner(databaseUrl: string): Promise<string> {
  return await withConnection(databaseUrl, "restore", async (client) => {
    const { rows } = await client.query<{ superuser: boolean; me: string; owner: string; may: boolean; db: string }>(
      `SELECT r.rolsuper AS superuser, current_user AS me, pg_get_userbyid(d.datdba) AS owner, d.datname AS db,
         has_database_privilege(d.oid, 'CREATE') AS may
       FROM pg_database d, pg_roles r WHERE d.datname = current_database() AND r.rolname = current_user`,
    );
    const [found] = rows;
    if (!found?.may)
      throw new Error(
        `${found?.me} may not make a schema in database ${found?.db}: let the service's login own a fresh database ` +
          `(CREATE DATABASE name OWNER ${pg.escapeIdentifier(found?.me ?? "login")})`,
      );
    if ((await client.query("SELECT to_regclass('service.account') AS at")).rows[0]?.at) await requireEmpty(client);
    if (!found.superuser || found.owner === found.me) return databaseUrl;
    const url = new URL(databaseUrl);
    const options = [url.searchParams.get("options"), `-c role=${found.owner.replace(/[\\ ]/g, "\\$&")}`];
    url.searchParams.set("options", options.filter(Boolean).join(" "));
    return url.href;
  });
}

async function requireEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query("SELECT FROM service.account LIMIT 1");
  if (rows.length > 0)
    throw new Error(
      "the database holds accounts already: restore into a fresh one (CREATE DATABASE) and name it in DATABASE_URL",
    );
}

/**
 * In one transaction, without the triggers that check how rows are written. Foreign keys are dropped and created again,
 * which checks them, because only a superuser can disable their triggers.
 */
async function putRowsBack(client: pg.Client, manifest: Manifest, folder: string): Promise<void> {
  const tables = manifest.tables.map(({ name }) => `service.${pg.escapeIdentifier(name)}`);
  const { rows: references } = await client.query<{ on_table: string; name: string; definition: string }>(
    `SELECT conrelid::regclass::text AS on_table, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
     FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND connamespace = 'service'::regnamespace`,
  );
  for (const { on_table, name } of references) await client.query(`ALTER TABLE ${on_table} DROP CONSTRAINT ${name}`);
  for (const table of tables) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  await client.query(`TRUNCATE ${tables.join(", ")}`);
  for (const { name, rows } of manifest.tables) {
    const copied = await copyIn(client, name, folder);
    if (copied !== rows) throw new Error(`${name}: ${copied} rows of ${rows}`);
    await client.query(setSequences, [name]);
  }
  for (const table of tables) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  for (const { on_table, name, definition } of references)
    await client.query(`ALTER TABLE ${on_table} ADD CONSTRAINT ${name} ${definition}`);
}

/** Identity columns continue after the highest row. */
const setSequences = `
  SELECT setval(s.name, greatest((xpath('/row/max/text()', query_to_xml(
    format('SELECT max(%I) AS max FROM service.%I', s.attname, $1::text), false, true, '')))[1]::text::bigint, 1))
  FROM (SELECT a.attname, pg_get_serial_sequence(format('service.%I', $1::text), a.attname) AS name FROM pg_attribute a
    WHERE a.attrelid = format('service.%I', $1::text)::regclass AND a.attnum > 0 AND NOT a.attisdropped) s
  WHERE s.name IS NOT NULL
    AND (xpath('/row/max/text()', query_to_xml(
      format('SELECT max(%I) AS max FROM service.%I', s.attname, $1::text), false, true, '')))[1] IS NOT NULL`;
