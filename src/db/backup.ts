import { closeSync, createReadStream, fsyncSync, openSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "./migrate.ts";
import { writeWhole } from "./write-whole.ts";

/** What a backup holds beside its files of rows. */
interface Manifest {
  format: 1;
  takenAt: string;
  /** Migrations that the rows belong to, with their digests. */
  migrations: { name: string; digest: string }[];
  tables: { name: string; rows: number }[];
}

/** Not kept: what the next start makes itself. */
const left = ["migration", "rate"];

/**
 * Writes everything that cannot be made again into a folder: schema `service` as of one moment, and the
 * archives of all uploads. The index is not in it; it comes from the chains. The service may be running.
 *
 * @param folder is created; must not hold a backup yet.
 */
export async function takeBackup(databaseUrl: string, ipfsFolder: string, folder: string): Promise<Manifest> {
  // Names, e-mail addresses and digests of keys: for the owner's eyes alone, whatever the umask.
  await mkdir(join(folder, "service"), { recursive: true, mode: 0o700 });
  for (const path of [folder, join(folder, "service")]) await chmod(path, 0o700);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "mintyard-backup" });
  await client.connect();
  try {
    // One snapshot: rows that refer to each other are from the same moment.
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const { rows: migrations } = await client.query("SELECT name, digest FROM service.migration ORDER BY name");
    const tables = [];
    for (const name of await tableNames(client)) tables.push({ name, rows: await copyOut(client, name, folder) });
    await client.query("COMMIT");
    // After the snapshot: archives are only ever added, so every one that a row names is there now.
    await cp(ipfsFolder, join(folder, "ipfs"), {
      recursive: true,
      filter: (path) => !path.endsWith(".part"),
    }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    const manifest: Manifest = { format: 1, takenAt: new Date().toISOString(), migrations, tables };
    // Last: a folder without it is a backup that was broken off.
    await writeFile(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`, {
      flag: "wx",
      mode: 0o600,
    });
    return manifest;
  } finally {
    await client.end();
  }
}

/**
 * Fills a fresh database and data folder from a backup. Needs a superuser, because the rows are put back as
 * they are, without the triggers that watch how they come to be.
 *
 * @throws Error when the database holds accounts already, or the backup is of other migrations.
 */
export async function restoreBackup(databaseUrl: string, ipfsFolder: string, folder: string): Promise<Manifest> {
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as Manifest;
  await migrate(databaseUrl);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "mintyard-restore" });
  await client.connect();
  try {
    const { rows: here } = await client.query("SELECT name, digest FROM service.migration ORDER BY name");
    if (JSON.stringify(here) !== JSON.stringify(manifest.migrations))
      throw new Error("the backup is of another version: restore it with that version, then upgrade");
    const { rows: accounts } = await client.query("SELECT FROM service.account LIMIT 1");
    if (accounts.length > 0) throw new Error("the database holds accounts already; restore into a fresh one");
    await client.query("BEGIN");
    await client.query("SET LOCAL session_replication_role = replica");
    const names = manifest.tables.map(({ name }) => `service.${pg.escapeIdentifier(name)}`);
    await client.query(`TRUNCATE ${names.join(", ")}`);
    for (const { name, rows } of manifest.tables) {
      const copied = await copyIn(client, name, folder);
      if (copied !== rows) throw new Error(`${name}: ${copied} rows of ${rows}`);
      await client.query(setSequences, [name]);
    }
    await client.query("COMMIT");
  } finally {
    await client.end();
  }
  if ((await readdir(folder)).includes("ipfs")) await cp(join(folder, "ipfs"), ipfsFolder, { recursive: true });
  return manifest;
}

async function tableNames(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'service'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT c.relispartition AND c.relname <> ALL ($1) ORDER BY 1`,
    [left],
  );
  return rows.map(({ name }) => name);
}

/** Identity columns go on behind the highest row. */
const setSequences = `
  SELECT setval(s.name, greatest((xpath('/row/max/text()', query_to_xml(
    format('SELECT max(%I) AS max FROM service.%I', s.attname, $1::text), false, true, '')))[1]::text::bigint, 1))
  FROM (SELECT a.attname, pg_get_serial_sequence(format('service.%I', $1::text), a.attname) AS name FROM pg_attribute a
    WHERE a.attrelid = format('service.%I', $1::text)::regclass AND a.attnum > 0 AND NOT a.attisdropped) s
  WHERE s.name IS NOT NULL
    AND (xpath('/row/max/text()', query_to_xml(
      format('SELECT max(%I) AS max FROM service.%I', s.attname, $1::text), false, true, '')))[1] IS NOT NULL`;

const fileOf = (folder: string, name: string) => join(folder, "service", `${name}.copy`);

/** What node-postgres asks of a statement that runs in a mode of its own. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
  stream: NodeJS.WritableStream & { writableNeedDrain: boolean };
}

async function copyOut(client: pg.Client, name: string, folder: string): Promise<number> {
  const file = openSync(fileOf(folder, name), "wx", 0o600);
  try {
    const rows = await copy(client, `COPY service.${pg.escapeIdentifier(name)} TO STDOUT`, (chunk) => {
      writeWhole(file, chunk);
    });
    fsyncSync(file);
    return rows;
  } finally {
    closeSync(file);
  }
}

async function copyIn(client: pg.Client, name: string, folder: string): Promise<number> {
  return await copy(
    client,
    `COPY service.${pg.escapeIdentifier(name)} FROM STDIN`,
    () => undefined,
    async (connection) => {
      for await (const chunk of createReadStream(fileOf(folder, name))) {
        connection.sendCopyFromChunk(chunk as Buffer);
        if (connection.stream.writableNeedDrain)
          await new Promise((drained) => connection.stream.once("drain", drained));
      }
    },
  );
}

/** Runs one COPY. @returns how many rows it moved. */
function copy(
  client: pg.Client,
  text: string,
  take: (chunk: Buffer) => void,
  give?: (connection: CopyConnection) => Promise<void>,
): Promise<number> {
  return new Promise((done, failed) => {
    let rows = 0;
    let fault: Error | null = null;
    client.query({
      submit: (connection: unknown) => (connection as CopyConnection).query(text),
      handleCopyData: ({ chunk }: { chunk: Buffer }) => take(chunk),
      handleCopyInResponse: (connection: CopyConnection) => {
        give?.(connection).then(
          () => connection.endCopyFrom(),
          (error: Error) => connection.sendCopyFail(error.message),
        );
      },
      handleCommandComplete: (message: { text: string }) => {
        rows = Number(message.text.split(" ")[1]);
      },
      handleError: (error: Error) => {
        fault = error;
        failed(error);
      },
      handleReadyForQuery: () => {
        if (!fault) done(rows);
      },
    } as never);
  });
}
