import { randomUUID } from "node:crypto";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAudit } from "../../src/auth/audit.ts";
import { migrate, migrationNames } from "../../src/db/admin/migrate.ts";
import { restoreBackup } from "../../src/db/admin/restore.ts";
import { RecentEvents } from "../../src/events/match-webhooks.ts";
import { readDueRows, readWaiting } from "../../src/events/read-waiting.ts";
import type { ClaimedWebhook } from "../../src/events/webhook-record.ts";
import { LocalCars } from "../../src/ipfs/local-cars.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { dumps, unpackDump, unpackOlder } from "./dump.ts";
import { insertIntent } from "./seed.ts";

const versions = (await readdir(dumps)).map((file) => file.replace(".json.gz", "")).sort();

const dir = temporaryFolder();
let fresh: TestDatabase;
const made: TestDatabase[] = [];
const emptyDatabase = async () => {
  const database = await createTestDatabase({ migrated: false });
  made.push(database);
  return database;
};
beforeAll(async () => {
  fresh = await createTestDatabase();
});
afterAll(async () => {
  await Promise.all([...made, fresh].map((database) => database?.drop()));
});

/** Everything that makes the form of schema `service`, so that two databases can be compared. */
async function formOf({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(`
    SELECT line FROM (
      SELECT format('column %s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        pg_get_expr(d.adbin, d.adrelid)) AS line
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
      WHERE c.relnamespace = 'service'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped
      UNION ALL SELECT format('constraint %s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
      FROM pg_constraint WHERE connamespace = 'service'::regnamespace
      UNION ALL SELECT format('index %s valid %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
      FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 'service'::regnamespace
      UNION ALL SELECT format('trigger %s %s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
      WHERE NOT tgisinternal AND tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'service'::regnamespace)
      UNION ALL SELECT format('function %s %s %s %s', oid::regprocedure, prosrc, prosecdef, proconfig) FROM pg_proc WHERE pronamespace = 'service'::regnamespace
      UNION ALL SELECT format('policy %s %s %s', tablename, policyname, qual) FROM pg_policies WHERE schemaname = 'service'
    ) AS lines ORDER BY line`);
  return rows.map(({ line }) => line);
}

/** Rows by table; those of tables that the version did not have are not counted. */
async function rowsOf(database: TestDatabase, tables: readonly string[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS count FROM service.${pg.escapeIdentifier(table)}`,
    );
    counts[table] = rows[0].count;
  }
  return counts;
}

type Ask = (text: string, values?: unknown[]) => Promise<unknown>;

/** What processes of the older version go on doing: their statements, over connections of their own. */
class OldProcesses {
  readonly failures: string[] = [];
  readonly accepted: string[] = [];
  reads = 0;
  /** Statements that PostgreSQL ended because a migration and they waited for each other: 503 to a client, who asks again. */
  repeated = 0;
  #over = false;
  readonly #work: Promise<void>[];

  constructor(url: string, account: string) {
    this.#work = [this.#loop(url, (ask) => this.#read(ask)), this.#loop(url, (ask) => this.#write(ask, account))];
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#work);
  }

  async #loop(url: string, turn: (ask: Ask) => Promise<void>): Promise<void> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const ask: Ask = async (text, values) => {
      for (;;) {
        try {
          return await client.query(text, values);
        } catch (error) {
          if ((error as pg.DatabaseError).code !== "40P01") throw error;
          this.repeated += 1;
        }
      }
    };
    while (!this.#over) await turn(ask).catch((error: Error) => this.failures.push(error.message));
    await client.end();
  }

  async #read(ask: Ask): Promise<void> {
    await ask("SELECT id, name, tier, suspended FROM service.account");
    await ask("SELECT id, state, payload, predicted_addr, hold_reason FROM service.intent ORDER BY created_at");
    await ask("SELECT token_id, status, metadata, name FROM service.token_metadata WHERE chain_id = 137 LIMIT 50");
    await ask("SELECT cid, size, pin_state FROM service.upload ORDER BY created_at DESC LIMIT 20");
    this.reads += 1;
  }

  async #write(ask: Ask, account: string): Promise<void> {
    const id = randomUUID();
    await insertIntent({ query: ask } as never, id, account, "while upgrading");
    for (const state of ["held", "queued", "cancelled"])
      await ask("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [id, state]);
    await ask("UPDATE service.token_metadata SET attempts = attempts + 1 WHERE token_id = 7");
    this.accepted.push(id);
  }
}

test("there is a dump of each version, and they are small", async () => {
  expect(versions).toEqual(expect.arrayContaining(["0.2.0"]));
  for (const version of versions) expect((await stat(join(dumps, `${version}.json.gz`))).size).toBeLessThan(300_000);
});

test.each(versions)(
  "from %s to this version while its processes read and write: no row and no rule is lost",
  async (version) => {
    const folder = join(dir, version);
    const manifest = await unpackDump(version, folder);
    const database = await emptyDatabase();
    await restoreBackup(database.url, new LocalCars(join(dir, "ipfs")), folder, { upgrade: false });
    const tables = manifest.tables.map(({ name }) => name);
    const before = Object.fromEntries(manifest.tables.map(({ name, rows }) => [name, rows]));
    expect(await rowsOf(database, tables)).toEqual(before);
    expect(before["intent"]).toBeGreaterThan(10);
    const states =
      "SELECT state, count(*)::int AS count FROM service.intent WHERE payload->>'name' <> 'while upgrading' GROUP BY 1 ORDER BY 1";
    const statesBefore = (await database.pool.query(states)).rows;
    const { rows: accounts } = await database.pool.query("SELECT id FROM service.account WHERE tier = 'growth'");

    const old = new OldProcesses(database.url, accounts[0].id);
    await expect.poll(() => Math.min(old.accepted.length, old.reads), patient).toBeGreaterThan(3);
    const applied = await migrate(database.url);
    const [doneWrites, doneReads] = [old.accepted.length, old.reads];
    await expect
      .poll(() => Math.min(old.accepted.length - doneWrites, old.reads - doneReads), patient)
      .toBeGreaterThan(3);
    await old.stop();
    expect(old.failures).toEqual([]);
    console.info(
      `${version}: ${old.reads} reads, ${old.accepted.length} requests, ${old.repeated} statements repeated`,
    );

    expect([...manifest.migrations.map(({ name }) => name), ...applied].sort()).toEqual(await migrationNames());
    expect(await formOf(database)).toEqual(await formOf(fresh));
    const after = await rowsOf(database, tables);
    // Written meanwhile, and what triggers note of it; nothing has fewer rows.
    for (const table of tables)
      expect([table, after[table]]).toEqual([table, expect.toSatisfy((rows) => rows >= (before[table] ?? 0))]);
    expect(after["intent"]).toBe((before["intent"] ?? 0) + old.accepted.length);
    expect((await database.pool.query(states)).rows).toEqual(statesBefore);
    expect(await verifyAudit(database.db)).toMatchObject({ brokenAt: null });
    // The new version starts on it, and starting again changes nothing.
    await prepareDatabase(database.url, createLogger("test", "silent"));
    expect(await migrate(database.url)).toEqual([]);
  },
);

test("what waits for an endpoint goes on after the upgrade, also while a worker of the version before takes it", async () => {
  const database = await emptyDatabase();
  const before = new Set((await migrationNames()).filter((name) => name < "0430"));
  await migrate(database.url, { only: before });
  const { pool } = database;
  await pool.query(`INSERT INTO service.webhook (url, types, chains, contracts, accounts, token_ids, finality, secret, signing_key, since, next_due)
    VALUES ('http://127.0.0.1:9', '{index}', '{}', '{}', '{}', '{}', 'latest', '', '', 0, clock_timestamp())`);
  const record = "SELECT service.record_event('index.stalled', $1, NULL, true, NULL, NULL, NULL, '{}')";
  for (const key of ["a", "b", "c"]) await pool.query(record, [key]);
  await pool.query("SELECT service.number_events(10)");
  // As the version before compares an event with endpoints, sends it, and gives an endpoint back that has no row.
  const match = async (sequence: number) => {
    await pool.query(
      `INSERT INTO service.webhook_delivery (webhook_id, account_id, sequence, event_id, type, place)
       SELECT w.id, w.account_id, $1::bigint, 'evt_' || $1, 'index.stalled', 'index.stalled' FROM service.webhook w`,
      [sequence],
    );
    await pool.query("UPDATE service.webhook_head SET sequence = $1", [sequence]);
  };
  const giveBack = "UPDATE service.webhook SET lease_id = NULL, lease_until = NULL, next_due = NULL";
  await match(1);
  expect(await migrate(database.url)).toContain("0430_webhook_cursor.sql");
  const read = async () => {
    const { rows } = await pool.query<ClaimedWebhook>("SELECT *, NULL AS tries_left FROM service.webhook");
    const [row] = rows;
    if (!row) throw new Error("the endpoint is gone");
    const due = await readDueRows({ pool }, rows);
    const { items } = await readWaiting({ pool }, new RecentEvents(), row, due.get(row.id) ?? []);
    return { row, sequences: items.map(({ sequence }) => Number(sequence)) };
  };
  expect((await read()).sequences).toEqual([1]);
  // It was there before endpoints were asked whether they want messages.
  expect((await read()).row).toMatchObject({ cursor: 1n, wanted: 1n, verified_at: expect.any(Date) });
  await pool.query(giveBack);
  expect((await read()).row.next_due).toBeNull();
  // One event is compared by this version, the next by the other one, which then takes the endpoint.
  await pool.query("UPDATE service.webhook SET wanted = 2, next_due = clock_timestamp()");
  await pool.query("UPDATE service.webhook_head SET sequence = 2");
  await match(3);
  await pool.query("UPDATE service.webhook_delivery SET state = 'delivered' WHERE sequence = 1");
  await pool.query("UPDATE service.webhook SET wanted = 3");
  expect((await read()).sequences).toEqual([3, 2]);
  await pool.query(giveBack);
  expect((await read()).row.next_due).not.toBeNull();
});

test("a backup of an older version is restored by this one, into a database that no process has used", async () => {
  const folder = join(dir, "restored");
  const manifest = await unpackOlder(folder);
  const database = await emptyDatabase();
  await restoreBackup(database.url, new LocalCars(join(dir, "ipfs")), folder);
  expect(await formOf(database)).toEqual(await formOf(fresh));
  const rows = await rowsOf(database, ["account", "intent", "upload"]);
  for (const [table, count] of Object.entries(rows))
    expect(count).toBe(manifest.tables.find(({ name }) => name === table)?.rows);
  await expect(restoreBackup(fresh.url, new LocalCars(join(dir, "ipfs")), folder)).rejects.toThrow(
    "this version has prepared the database already, and the backup is of an older one",
  );
});

test("a backup of a newer version is refused before anything is written", async () => {
  const folder = join(dir, "newer");
  const manifest = await unpackDump("0.2.0", folder);
  manifest.migrations.push({ name: "9999_later.sql", digest: "x" });
  await writeFile(join(folder, "manifest.json"), JSON.stringify(manifest));
  const database = await emptyDatabase();
  await expect(restoreBackup(database.url, new LocalCars(join(dir, "ipfs")), folder)).rejects.toThrow(
    "the backup is of a newer version (it has migration 9999_later.sql): restore it with that version or a later one",
  );
  expect((await database.pool.query("SELECT to_regnamespace('service') AS at")).rows).toEqual([{ at: null }]);
});

test("a process of an older version works beside a newer one's database, unless that says it cannot", async () => {
  const database = await createTestDatabase();
  made.push(database);
  const add = "INSERT INTO service.migration (name, digest) VALUES ($1, 'x')";
  await database.pool.query(add, ["9998_more.sql"]);
  const newer: string[] = [];
  expect(await migrate(database.url, { onNewer: (names) => newer.push(...names) })).toEqual([]);
  expect(newer).toEqual(["9998_more.sql"]);
  await database.pool.query(add, ["9999_fewer.breaking.sql"]);
  await expect(migrate(database.url)).rejects.toThrow(
    "changed by a newer version (migration 9999_fewer.breaking.sql) and this version cannot work with it: start the newer version",
  );
});
