import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createAnalystLogin } from "../../src/db/admin/analyst-logins.ts";
import { migrate } from "../../src/db/admin/migrate.ts";
import { AnalystWatch, watchAnalystSessions } from "../../src/db/admin/watch-analysts.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { changeNft, connect } from "../../src/indexing/nft-views.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { NftFixture } from "../setup/nft-fixture.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";

// A server of its own, whose queue of notifications is small, and a service that is no superuser: it can end analysts'
// sessions only by the rights that making their logins gives it.
const dir = temporaryFolder();
let postgres: EmbeddedPostgres;
let serviceUrl: string;
let analystUrl: string;
const sessions: pg.Client[] = [];

beforeAll(async () => {
  const [port = 0] = await freePorts(1);
  postgres = await startPostgres(join(dir, "postgres"), port, { max_notify_queue_pages: "64" });
  const owner = await session(postgres.url);
  await owner.query("CREATE ROLE service LOGIN CREATEROLE PASSWORD 'p'");
  await owner.query("CREATE DATABASE hosted OWNER service");
  serviceUrl = `postgres://service:p@127.0.0.1:${port}/hosted`;
  await migrate(serviceUrl);
  const pool = createPool(serviceUrl, "test", 1);
  await NftFixture.create(pool, [1, 137]);
  await pool.end();
  await prepareDatabase(serviceUrl, pino({ level: "silent" }));
  await publish(1, 137);
  analystUrl = (await createAnalystLogin(serviceUrl, "ada")).url;
});
afterEach(async () => {
  await Promise.all(sessions.splice(0).map((client) => client.end().catch(() => undefined)));
});
afterAll(async () => {
  await postgres?.stop();
});

async function session(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  sessions.push(client);
  return client;
}

/** An analyst who has lifted every time-out, as any session may. */
async function analyst(): Promise<pg.Client> {
  const client = await session(analystUrl);
  await client.query(`SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET lock_timeout = 0;
    SET idle_session_timeout = 0; SET default_transaction_read_only = off`);
  return client;
}

async function publish(...chainIds: number[]): Promise<void> {
  const client = await connect(serviceUrl, "test");
  await changeNft(client, async () => {
    for (const id of chainIds)
      await client.query("INSERT INTO nft.index_version VALUES ($1, $2, '0x00', true)", [`c${id}_test`, id]);
  });
  await client.end();
}

const isAlive = (client: pg.Client) =>
  client.query("SELECT 1").then(
    () => true,
    () => false,
  );

/** @returns the watch, what it logged, and its metrics as Prometheus reads them. */
function startWatch(transactionSeconds: number) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const watch = new AnalystWatch(serviceUrl, transactionSeconds, log);
  const metrics = createMetrics("worker");
  watchAnalystSessions(metrics, watch);
  return { watch, lines, metrics: () => metrics.registry.metrics() };
}

test("an analyst's transaction ends at its bound; younger ones, idle sessions and the service's own go on", async () => {
  const service = await session(serviceUrl);
  await service.query("BEGIN; SELECT * FROM analytics.version");
  const old = await analyst();
  await old.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM tokens");
  const idle = await analyst();
  const aged = "SELECT clock_timestamp() - xact_start > interval '1 s' AS aged FROM pg_stat_activity WHERE pid = $1";
  const pid = (await old.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  await expect.poll(async () => (await service.query(aged, [pid])).rows, patient).toEqual([{ aged: true }]);
  const young = await analyst();
  const { watch, lines, metrics } = startWatch(300);
  await watch.look();
  expect(lines).toEqual([]);
  await young.query("BEGIN; SELECT * FROM tokens");
  const strict = startWatch(1);
  await strict.watch.look();
  expect(await Promise.all([old, idle, young, service].map(isAlive))).toEqual([false, true, true, true]);
  expect(strict.lines).toMatchObject([
    { level: 40, pid, role: "mintyard_analyst_ada", database: "hosted", reason: "old_transaction" },
  ]);
  expect(await strict.metrics()).toMatch(/analyst_sessions_ended_total\{reason="old_transaction",process="worker"\} 1/);
  expect(await metrics()).toMatch(/notification_queue_usage\{process="worker"\} 0\b/);
});

test("a session that notifies, or has a transaction id, is ended: there are few of those for a whole server", async () => {
  const [plain, hidden, second, reader] = [await analyst(), await analyst(), await analyst(), await analyst()];
  await plain.query("NOTIFY x, 'y'");
  await hidden.query("/* a */ -- b\n notify x");
  await second.query("SELECT 1; NOTIFY x");
  await reader.query("SELECT 'please notify me'");
  const { watch, lines, metrics } = startWatch(300);
  await watch.look();
  expect(await Promise.all([plain, hidden, second, reader].map(isAlive))).toEqual([false, false, false, true]);
  expect(lines).toMatchObject(Array.from({ length: 3 }, () => ({ level: 40, reason: "transaction_ids" })));
  expect(await metrics()).toMatch(/analyst_sessions_ended_total\{reason="transaction_ids",process="worker"\} 3/);
});

test("a listener idle in a transaction fills the queue of notifications; the watch ends it and commits go on", async () => {
  const listener = await analyst();
  await listener.query("LISTEN x");
  await listener.query("BEGIN");
  await listener.query("SELECT 1");
  const flooder = await analyst();
  const service = await session(serviceUrl);
  const payload = "x".repeat(7_000);
  const flood = async () => {
    for (let sent = 0; sent < 400; sent += 1) await flooder.query(`NOTIFY x, '${sent}${payload}'`);
  };
  await expect(flood()).rejects.toThrow("too many notifications in the NOTIFY queue");
  // What Ponder does with each block.
  await expect(service.query("NOTIFY live, 'block'")).rejects.toThrow("too many notifications");
  const { watch, lines } = startWatch(300);
  await watch.look();
  expect(await Promise.all([listener, flooder].map(isAlive))).toEqual([false, false]);
  expect(lines[0]).toMatchObject({ queueUsage: expect.any(Number) });
  const reasons = lines.slice(1).map(({ reason }) => reason);
  expect(reasons.toSorted()).toEqual(["notification_queue", "transaction_ids"]);
  expect(watch.queueUsage).toBeLessThan(0.1);
  await service.query("NOTIFY live, 'block'");
});

test("whoever keeps the service waiting for a lock is ended", async () => {
  const holder = await analyst();
  await holder.query("BEGIN; SELECT * FROM metadata");
  const service = await session(serviceUrl);
  const changed = service.query("ALTER TABLE service.token_metadata ADD COLUMN waited integer");
  const { watch, lines } = startWatch(300);
  await expect
    .poll(async () => {
      await watch.look();
      return lines;
    }, patient)
    .toMatchObject([{ reason: "blocks_service" }]);
  await changed;
});

/** A folder with one migration, which needs the strongest lock of a table that analysts read. */
async function folderOf(name: string): Promise<URL> {
  const folder = await mkdtemp(join(dir, "migrations-"));
  await writeFile(join(folder, `9999_${name}.sql`), `ALTER TABLE service.token_metadata ADD COLUMN ${name} integer`);
  return pathToFileURL(`${folder}/`);
}

test("a migration ends the analyst who is in its way, and is applied", async () => {
  const holder = await analyst();
  await holder.query("BEGIN; SELECT * FROM metadata");
  const lockWait = { seconds: 20, tries: 2 };
  expect(await migrate(serviceUrl, { folder: await folderOf("probe"), lockWait })).toEqual(["9999_probe.sql"]);
  expect(await isAlive(holder)).toBe(false);
});

test("a migration that somebody else blocks gives up and names who, with process id and statement", async () => {
  const holder = await session(postgres.url.replace(/\/[^/]*$/, "/hosted"));
  await holder.query("BEGIN");
  await holder.query("SELECT count(*) FROM service.token_metadata");
  const pid = (await holder.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  await holder.query("SELECT 'a report by hand'");
  const failed = migrate(serviceUrl, { folder: await folderOf("other"), lockWait: { seconds: 2, tries: 2 } });
  const error = await failed.catch((error: Error) => error);
  expect(String(error)).toContain(`migration 9999_other.sql waits for a lock of process ${pid} (user postgres`);
  expect(String(error)).toContain(`end it (SELECT pg_terminate_backend(${pid})), or let it finish, and start again`);
  expect(await isAlive(holder)).toBe(true);
  await holder.query("COMMIT");
});

test("an analyst in a transaction cannot keep an old index from being dropped, and our own reader is waited for", async () => {
  const holder = await analyst();
  await holder.query("BEGIN; SELECT * FROM tokens");
  const client = await connect(serviceUrl, "test");
  sessions.push(client);
  await changeNft(client, async () => {
    await client.query("DELETE FROM nft.index_version WHERE chain_id = 137");
    await client.query("DROP SCHEMA c137_test CASCADE");
  });
  expect(await isAlive(holder)).toBe(false);
  const reader = await session(serviceUrl);
  await reader.query("BEGIN; SELECT * FROM nft.tokens");
  const hidden = changeNft(client, () => client.query("UPDATE nft.index_version SET live = false"));
  // Longer than one try of the publisher for its lock, after which it sends others away.
  await new Promise((wait) => setTimeout(wait, 1_500));
  await reader.query("COMMIT");
  await hidden;
});
