import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { restAt } from "../../src/db/elastic-pool.ts";
import { createPool } from "../../src/db/pool.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/patience.ts";

let database: TestDatabase;
let watcher: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
  watcher = new pg.Client({ connectionString: database.url });
  await watcher.connect();
});
afterAll(async () => {
  await watcher.end();
  await database.drop();
});

let pool: pg.Pool;
beforeEach(() => {
  pool = createPool(database.url, "elastic", 6);
  restAt(pool, 2);
  onTestFinished(() => pool.end());
});

async function connections(): Promise<number> {
  const { rows } = await watcher.query(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'mintyard-elastic'",
  );
  return rows[0].n;
}

test("short statements that meet share the connections at rest", async () => {
  // What connecting takes on a busy machine is no pressure.
  await pool.query("SELECT 1");
  await Promise.all(Array.from({ length: 8 }, () => pool.query("SELECT 1")));
  expect(await connections()).toBeLessThanOrEqual(2);
});

test("requests that wait get connections up to the limit, and those end again when they are not needed", {
  timeout: 300_000,
}, async () => {
  const work = Promise.all(Array.from({ length: 12 }, () => pool.query("SELECT pg_sleep(1)")));
  await expect.poll(connections, patient).toBe(6);
  await work;
  const afterUse = async () => {
    await pool.query("SELECT 1");
    return await connections();
  };
  await expect.poll(afterUse, patient).toBe(2);
  expect((await Promise.all([pool.query("SELECT 1"), pool.query("SELECT 1")])).map(({ rowCount }) => rowCount)).toEqual(
    [1, 1],
  );
});

test("who holds all resting connections and asks for another gets it", async () => {
  const held = await Promise.all([pool.connect(), pool.connect()]);
  const third = await Promise.race([pool.connect(), wait(4_000, null)]);
  expect(third).not.toBeNull();
  for (const client of [...held, third]) client?.release();
});
