import { readFileSync } from "node:fs";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { type AnalyticsFixture, createAnalyticsFixture } from "./analytics-fixture.ts";
import { addDocumentedData } from "./documented-data.ts";

const guide = readFileSync(new URL("../../docs/analysts.md", import.meta.url), "utf8");

let fixture: AnalyticsFixture;
let analyst: pg.Client;
beforeAll(async () => {
  fixture = await createAnalyticsFixture([1, 137]);
  await addDocumentedData(fixture);
  analyst = await fixture.connectAnalyst();
});
afterAll(() => fixture?.remove());

/** The tables below `## Views`: view, its sentence, and column, type, meaning of each row. */
function documentedViews(): { view: string; comment: string; columns: string[][] }[] {
  const section = guide.slice(guide.indexOf("\n## Views\n"), guide.indexOf("\n### holdings_at"));
  return section.split("\n### ").flatMap((part, index) => {
    if (index === 0) return [];
    const [view = "", , comment = "", ...lines] = part.split("\n");
    const rows = lines.filter((line) => line.startsWith("| ")).map((line) => line.slice(2, -2).split(" | "));
    return [{ view, comment, columns: rows.slice(2) }];
  });
}

test("the guide lists every view and column with type and meaning, as the database has them", async () => {
  const { rows } = await analyst.query(
    `SELECT c.relname AS view, obj_description(c.oid, 'pg_class') AS comment,
       json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum))
         ORDER BY a.attnum) AS columns
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = 'analytics'::regnamespace GROUP BY c.oid, c.relname`,
  );
  const byName = (a: { view: string }, b: { view: string }) => a.view.localeCompare(b.view);
  expect(documentedViews().toSorted(byName)).toEqual(rows.toSorted(byName));
  const functions = await analyst.query<{ list: string; comment: string }>(
    `SELECT array_to_string(proargnames[3:], ', ') AS list, obj_description(oid, 'pg_proc') AS comment
     FROM pg_proc WHERE pronamespace = 'analytics'::regnamespace`,
  );
  expect(functions.rows).toEqual([
    { list: "contract, contract_bytes, token_id, owner, owner_bytes, amount, standard", comment: expect.any(String) },
  ]);
});

const [yard, coins] = [addressOf(0x2a), addressOf(0x3b)];
const [ada, bob, cleo] = [addressOf(0xa1), addressOf(0xb2), addressOf(0xc3)];
const noon = (day: number) => `2024-01-0${day}T12:00:00.000Z`;

/** Worked out by hand from documented-data.ts; numeric and bigint columns arrive as text. */
const answers: Record<string, unknown[]> = {
  "How far has each index come?": [
    { chain_id: 1, block_number: "104", block_time: noon(3) },
    { chain_id: 137, block_number: "101", block_time: noon(1) },
  ],
  "Who holds most of a collection?": [
    { owner: bob, tokens: "2", units: "2" },
    { owner: cleo, tokens: "2", units: "2" },
  ],
  "Who held it at a block (for an airdrop)?": [
    { token_id: "1", owner: bob, amount: "1" },
    { token_id: "2", owner: ada, amount: "1" },
    { token_id: "3", owner: bob, amount: "1" },
  ],
  "What is in a wallet?": [
    { collection: "Yard", contract: yard, token_id: "2", name: "Yard #2", amount: "1" },
    { collection: "Yard", contract: yard, token_id: "4", name: "Yard #4", amount: "1" },
    { collection: null, contract: coins, token_id: "7", name: null, amount: "4" },
  ],
  "What happened to a token?": [
    { block_number: "101", block_time: noon(1), kind: "mint", from_address: nobody, to_address: ada },
    { block_number: "103", block_time: noon(2), kind: "burn", from_address: ada, to_address: nobody },
    { block_number: "104", block_time: noon(3), kind: "mint", from_address: nobody, to_address: cleo },
  ],
  "How active is a collection, day by day?": [
    { day: "2024-01-01", mints: "3", transfers: "0", burns: "0", receivers: "2" },
    { day: "2024-01-02", mints: "0", transfers: "1", burns: "1", receivers: "1" },
    { day: "2024-01-03", mints: "2", transfers: "0", burns: "0", receivers: "1" },
  ],
  "Is it in few hands or in many?": [
    { least_units: 2, most_units: 5, holders: "1", units: "4", percent: "40.0" },
    { least_units: 6, most_units: 20, holders: "1", units: "6", percent: "60.0" },
  ],
  "How rare is each trait?": [
    { trait: "Fence", value: "stone", tokens: "1" },
    { trait: "Fence", value: "wood", tokens: "2" },
  ],
  "Who holds two collections at once?": [{ owner: cleo }],
  "How did the collections launched here do?": [
    { name: "Yard", launch_time: "2024-01-01T11:00:00.000Z", tokens: "4", minters: "3", days: "2" },
  ],
};

const queries = [...guide.matchAll(/^### \d+\. (.+)\n\n```sql\n([^`]+)```$/gm)].map(([, title = "", sql = ""]) => ({
  title,
  sql,
}));

test("the guide has ten queries", () => {
  expect(queries.map(({ title }) => title)).toEqual(Object.keys(answers));
  expect(queries).toHaveLength(10);
});

test.each(queries)("as an analyst: $title", async ({ title, sql }) => {
  const { rows, fields } = await analyst.query<Record<string, unknown>>(sql);
  const dates = new Set(fields.filter(({ dataTypeID }) => dataTypeID === 1082).map(({ name }) => name));
  const plain = rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toText(value, dates.has(name))])),
  );
  expect(plain).toEqual(answers[title]);
});

/** A column of type date arrives as local midnight; times as moments; bigint by this process's parser. */
function toText(value: unknown, isDay: boolean): unknown {
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Date)) return value;
  return isDay ? value.toLocaleDateString("sv-SE") : value.toISOString();
}

test("a collection that nobody has minted from yet is listed, a token that nobody read has no metadata", async () => {
  const { pool } = fixture.database;
  const fresh = Buffer.alloc(20, 0x6d);
  await pool.query("INSERT INTO c1_test.collection VALUES ($1, $1, $2, $1, 104, $2, 1704283200, $2)", [
    fresh,
    Buffer.alloc(32, 1),
  ]);
  const { rows } = await analyst.query(
    "SELECT launched_here, token_count, transfer_count FROM collections WHERE chain_id = 1 AND contract_bytes = $1",
    [fresh],
  );
  expect(rows).toEqual([{ launched_here: true, token_count: 0n, transfer_count: 0n }]);
  await pool.query("INSERT INTO service.token_metadata (chain_id, contract, token_id) VALUES (1, $1, 1)", [fresh]);
  expect((await analyst.query("SELECT FROM metadata WHERE contract_bytes = $1", [fresh])).rowCount).toBe(0);
});
