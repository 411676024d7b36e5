import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { migrationNames } from "../../src/db/admin/migrate.ts";
import { forServer } from "../../src/db/admin/postgresql-15.ts";
import { createTestDatabase } from "../setup/database.ts";

const names = await migrationNames();
const texts = names.map((name) => readFileSync(new URL(`../../schema/migrations/${name}`, import.meta.url), "utf8"));

test("a newer server is given each migration as it is", () => {
  expect(texts.map((sql) => forServer(sql, 160_000))).toEqual(texts);
});

test("PostgreSQL 15 is asked for nothing that it has not", () => {
  const said = texts.map((sql) => forServer(sql, 150_000)).join("\n");
  // No comment and no type: as the words stand in a statement.
  expect(said).not.toMatch(/\bIS JSON THEN\b|^\s+\w+ bytea STORAGE\b/m);
  expect(texts.join("\n")).toMatch(/\bIS JSON THEN\b[\s\S]*|STORAGE EXTERNAL/);
});

test("what stands for IS JSON says the same, and fails where it fails", async () => {
  const database = await createTestDatabase();
  const adapted = forServer(texts[names.indexOf("0447_readable_json.sql")] ?? "", 150_000);
  await database.pool.query(adapted.slice(0, adapted.indexOf("-- A text of a document")));
  const samples = ["{}", '{"a":1}', "[1,]", "", "nul", "1e400000", '"\\u0000"', '"\\ud800"', "\u0001", null];
  const { rows } = await database.pool.query(
    "SELECT s, coalesce(s IS JSON, false) AS newer, service.is_json(s) AS older FROM unnest($1::text[]) s",
    [samples],
  );
  expect(rows).toHaveLength(samples.length);
  expect(rows.filter(({ newer, older }) => newer !== older)).toEqual([]);
  for (const ask of ["$1::text IS JSON", "service.is_json($1)"])
    await expect(database.pool.query(`SELECT ${ask}`, ["[".repeat(100_000)])).rejects.toThrow(/stack depth/);
  await database.drop();
});
