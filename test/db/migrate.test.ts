import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { migrate, migrationNames } from "../../src/db/admin/migrate.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterAll(() => database.drop());

test("eight processes that start together apply each migration once", async () => {
  const applied = await Promise.all(Array.from({ length: 8 }, () => migrate(database.url)));
  const { rows } = await database.pool.query<{ name: string }>("SELECT name FROM service.migration ORDER BY name");
  expect(applied.flat().sort()).toEqual(rows.map((row) => row.name));
  expect(rows.length).toBeGreaterThan(0);
  expect(await migrate(database.url)).toEqual([]);
});

test("a migration that was changed after it ran is refused by name", async () => {
  await database.pool.query("UPDATE service.migration SET digest = 'x' WHERE name = '0001_accounts.sql'");
  await expect(migrate(database.url)).rejects.toThrow("migration 0001_accounts.sql was changed after it ran");
});

test("no migration is another one than installations have run", async () => {
  // Not even a comment of one may change: an installation that has run it would not start. A new one gets a line here:
  // (cd schema/migrations && sha256sum *.sql) > test/fixtures/migrations.sha256
  const written = await readFile(join(import.meta.dirname, "../fixtures/migrations.sha256"), "utf8");
  const lines = (await migrationNames()).map(async (name) => {
    const text = await readFile(join(import.meta.dirname, "../../schema/migrations", name));
    return `${createHash("sha256").update(text).digest("hex")}  ${name}`;
  });
  expect(await Promise.all(lines)).toEqual(written.trim().split("\n"));
});

test("the embedded database is a real PostgreSQL 18", async () => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
  await client.end();
  expect(rows[0]?.server_version).toMatch(/^18/);
});
