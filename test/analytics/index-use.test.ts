import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AnalyticsFixture, createAnalyticsFixture } from "./analytics-fixture.ts";

const rowCount = 60_000;

let fixture: AnalyticsFixture;
let analyst: pg.Client;
beforeAll(async () => {
  fixture = await createAnalyticsFixture([1, 137]);
  const { pool } = fixture.database;
  // 500 contracts of 40 tokens, each token minted and moved several times; one contract in five is ERC-1155.
  const client = await pool.connect();
  await client.query("SET statement_timeout = 0");
  const bytes = (kind: string, number: string, size: number) =>
    `decode(lpad(to_hex(${kind}), 8, '0') || repeat(lpad(to_hex(${number}), 8, '0'), ${size / 4 - 1}), 'hex')`;
  await client.query(
    `INSERT INTO c1_test.transfer
     SELECT 1000 + i / 10, i % 10, 0, ${bytes("1", "i / 10", 32)}, 1700000000 + i, ${bytes("2", "i", 32)}, ${bytes("3", "i % 997", 20)},
       ${bytes("4", "c", 20)}, i / 500 % 40, CASE WHEN i < ${rowCount / 2} THEN decode(repeat('00', 20), 'hex') ELSE ${bytes("5", "i % 2003", 20)} END,
       ${bytes("5", "i % 1999", 20)}, NULL, 1, CASE WHEN c % 5 = 0 THEN 'ERC1155' ELSE 'ERC721' END
     FROM (SELECT i, i % 500 AS c FROM generate_series(0, ${rowCount - 1}) i) g`,
  );
  client.release();
  await pool.query("ANALYZE c1_test.transfer");
  await pool.query("ANALYZE c1_test.token; ANALYZE c1_test.holding; ANALYZE c1_test.contract");
  await fixture.ledgers[0]?.setHead(1000 + rowCount / 10);
  analyst = await fixture.connectAnalyst();
});
afterAll(() => fixture?.remove());

interface Plan {
  "Node Type": string;
  "Relation Name"?: string;
  Plans?: Plan[];
}

function scans(plan: Plan): string[] {
  const here = plan["Relation Name"] ? [`${plan["Node Type"]} ${plan["Relation Name"]}`] : [];
  return [...here, ...(plan.Plans ?? []).flatMap(scans)];
}

/** Plans show tables that an analyst cannot read, so the owner asks; the plan is the same one. */
async function scansOf(sql: string): Promise<string[]> {
  const { rows } = await fixture.database.pool.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
    `EXPLAIN (FORMAT JSON) ${sql.replaceAll(/(FROM|JOIN) (?=[a-z])/g, "$1 analytics.")}`,
  );
  const plan = rows[0]?.["QUERY PLAN"][0].Plan;
  return plan ? scans(plan) : [];
}

const contract = `'\\x00000004${"00000007".repeat(4)}'`;
const wallet = `'\\x00000005${"00000007".repeat(4)}'`;

const filters: Record<string, string> = {
  "tokens of a contract": `SELECT * FROM tokens WHERE chain_id = 1 AND contract_bytes = ${contract}`,
  "one token": `SELECT * FROM tokens WHERE chain_id = 1 AND contract_bytes = ${contract} AND token_id = 5`,
  "holders of a contract": `SELECT owner, sum(amount) FROM holdings WHERE chain_id = 1 AND contract_bytes = ${contract} GROUP BY owner`,
  "a wallet": `SELECT * FROM holdings WHERE chain_id = 1 AND owner_bytes = ${wallet}`,
  "transfers of a contract": `SELECT * FROM transfers WHERE chain_id = 1 AND contract_bytes = ${contract}`,
  "history of a token": `SELECT * FROM transfers WHERE chain_id = 1 AND contract_bytes = ${contract} AND token_id = 5`,
  "transfers to a wallet": `SELECT * FROM transfers WHERE chain_id = 1 AND to_address_bytes = ${wallet}`,
  "transfers of a transaction": `SELECT * FROM transfers WHERE chain_id = 1 AND tx_hash_bytes = ${contract}`,
  "transfers of some blocks": "SELECT * FROM transfers WHERE chain_id = 1 AND block_number BETWEEN 3000 AND 3010",
  "the newest transfers":
    "SELECT * FROM transfers WHERE chain_id = 1 ORDER BY block_number DESC, log_index DESC LIMIT 10",
  "mints of some blocks": "SELECT * FROM mints WHERE chain_id = 1 AND block_number BETWEEN 3000 AND 3010",
  "daily activity of a contract": `SELECT * FROM daily_activity WHERE chain_id = 1 AND contract_bytes = ${contract}`,
  "distribution of a contract": `SELECT * FROM holders_distribution WHERE chain_id = 1 AND contract_bytes = ${contract}`,
  "holdings of a contract at a block": `SELECT * FROM holdings_at(1, 5000) WHERE contract_bytes = ${contract}`,
  "holdings of a token at a block": `SELECT * FROM holdings_at(1, 5000) WHERE contract_bytes = ${contract} AND token_id = 5`,
  "a collection": `SELECT * FROM collections WHERE chain_id = 1 AND contract_bytes = ${contract}`,
  "metadata of a contract": `SELECT * FROM metadata WHERE chain_id = 1 AND contract_bytes = ${contract}`,
};

test.each(Object.entries(filters))("no table is read from end to end for: %s", async (_name, sql) => {
  const found = await scansOf(sql);
  expect(found.length).toBeGreaterThan(0);
  // A chain's own collections, its contracts of ERC-20 and its checkpoint are a handful of rows here.
  const large = found.filter(
    (scan) => !/ (collection|contract|fungible|_ponder_checkpoint|contract_metadata)$/.test(scan),
  );
  expect(large.filter((scan) => scan.startsWith("Seq Scan"))).toEqual([]);
  expect(found.filter((scan) => scan.startsWith("Seq Scan c137"))).toEqual([]);
});

test("the check can fail: a condition on the text reads the whole ledger, and finds the same", async () => {
  const text = `contract = '0x00000004${"00000007".repeat(4)}'`;
  expect(await scansOf(`SELECT * FROM transfers WHERE chain_id = 1 AND ${text}`)).toContain("Seq Scan transfer");
  const count = async (condition: string) =>
    (await analyst.query(`SELECT FROM transfers WHERE chain_id = 1 AND ${condition}`)).rowCount;
  expect(await count(text)).toBe(await count(`contract_bytes = ${contract}`));
  expect(await count(text)).toBe(rowCount / 500);
});
