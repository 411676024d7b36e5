import fc from "fast-check";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nftViewStatements } from "../../schema/nft-views.ts";
import { readIndexStatements } from "../../schema/read-indexes.ts";
import { moveOneFungible } from "../../src/indexing/late-changes.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import {
  address,
  createLedger,
  deleteRows,
  insertProducts,
  insertRows,
  type LedgerRow,
  type ProductRow,
} from "./ledger-fixture.ts";

const schema = "c31337_test";
const maxUint256 = 2n ** 256n - 1n;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
  await createLedger(database.pool, schema);
  // Tables of Ponder's that the views read besides the ledger.
  await database.pool.query(`CREATE SCHEMA nft`);
  await database.pool.query(`CREATE TABLE ${schema}.collection (address bytea, owner bytea, intent_id bytea, factory bytea,
    block_number bigint, block_hash bytea, block_timestamp bigint, tx_hash bytea)`);
  await database.pool.query(`CREATE TABLE ${schema}.metadata_update (block_number bigint, log_index integer,
    block_timestamp bigint, contract bytea, from_token_id numeric(78), to_token_id numeric(78))`);
  await database.pool.query(`CREATE TABLE ${schema}.contract_update (block_number bigint, log_index integer,
    block_timestamp bigint, contract bytea)`);
  await database.pool.query(`CREATE TABLE ${schema}._ponder_checkpoint (latest_checkpoint varchar(75))`);
  for (const { sql } of nftViewStatements([{ chainId: 31337, schema }])) await database.pool.query(sql);
  // What the launcher reads of the worker.
  await database.pool.query(`CREATE SCHEMA service`);
  await database.pool.query(`CREATE TABLE service.contract_metadata (chain_id integer, address bytea, fungible boolean,
    demanded_at timestamptz, queued_at timestamptz, PRIMARY KEY (chain_id, address))`);
});
afterAll(() => database.drop());

/** The same answers straight from the ledger, without what is left out as ERC-20: no triggers, no running sums. */
const isLeftOut = `EXISTS (SELECT FROM ${schema}.fungible f WHERE f.address = l.contract AND l.token_id < f.below)`;
const ledger = `(SELECT * FROM ${schema}.transfer l WHERE standard = 'ERC1155' OR NOT ${isLeftOut})`;
const zero = `'\\x${"00".repeat(20)}'::bytea`;
const place = "block_number, log_index, batch_index";
const kinds = `SELECT contract, token_id, CASE WHEN bool_or(standard = 'ERC1155') THEN 'ERC1155' ELSE 'ERC721' END AS standard,
    count(*) AS transfer_count FROM ${ledger} r GROUP BY 1, 2`;
const latest = `SELECT DISTINCT ON (contract, token_id) contract, token_id, nullif(to_address, ${zero}) AS owner, ${place}
    FROM ${ledger} r WHERE standard = 'ERC721'
    ORDER BY contract, token_id, block_number DESC, log_index DESC, batch_index DESC`;
const balances = `SELECT contract, token_id, owner, sum(delta) AS amount FROM (
    SELECT contract, token_id, to_address AS owner, amount AS delta FROM ${ledger} r WHERE standard = 'ERC1155'
    UNION ALL SELECT contract, token_id, from_address, -amount FROM ${ledger} r WHERE standard = 'ERC1155') m
    WHERE owner <> ${zero} GROUP BY 1, 2, 3 HAVING sum(delta) > 0`;
const holdings = `SELECT contract, token_id, owner, 1::numeric AS amount, 'ERC721' AS standard
    FROM (${latest}) l JOIN (${kinds}) k USING (contract, token_id) WHERE k.standard = 'ERC721' AND owner IS NOT NULL
    UNION ALL SELECT contract, token_id, owner, amount, 'ERC1155' FROM (${balances}) b`;
const tokens = `SELECT contract, token_id, k.standard, coalesce(h.supply, 0) AS supply,
      CASE WHEN k.standard = 'ERC721' THEN l.owner END AS owner,
      m.block_number AS mint_block, m.log_index, m.batch_index, m.block_timestamp, m.tx_hash,
      CASE WHEN m.tx_from IS NOT NULL THEN coalesce(p.owner, m.tx_from) END AS creator, k.transfer_count,
      l.block_number, l.log_index, l.batch_index
    FROM (${kinds}) k
    LEFT JOIN (SELECT contract, token_id, sum(amount) AS supply FROM (${holdings}) x GROUP BY 1, 2) h USING (contract, token_id)
    LEFT JOIN (${latest}) l USING (contract, token_id)
    LEFT JOIN (SELECT DISTINCT ON (contract, token_id) * FROM ${ledger} r WHERE from_address = ${zero}
      ORDER BY contract, token_id, ${place}) m USING (contract, token_id)
    LEFT JOIN ${schema}.product p ON p.address = k.contract`;
const recomputed: Record<string, string> = {
  holdings,
  tokens,
  contracts: `SELECT t.contract, CASE WHEN bool_or(standard = 'ERC1155') THEN 'ERC1155' ELSE 'ERC721' END, min(block_number),
      (SELECT count(*) FROM (${tokens}) x WHERE x.contract = t.contract AND x.supply > 0),
      count(DISTINCT token_id), count(*) FROM ${ledger} t GROUP BY t.contract`,
  account_totals: `SELECT owner, standard, count(*) FROM (${holdings}) x GROUP BY 1, 2`,
  transfers: `SELECT * FROM ${ledger} r`,
  contract_flags: `SELECT contract, 'inconsistent', sum(n) FROM (SELECT contract, breaks AS n FROM ${schema}.token
      UNION ALL SELECT contract, 1 FROM ${schema}.holding WHERE amount < 0) i GROUP BY 1 HAVING sum(n) > 0
    UNION ALL SELECT contract, 'fungible', transfers FROM nft.fungible_contracts WHERE transfers > 0`,
  fungible_contracts: `SELECT address, below, (SELECT count(*) FROM ${schema}.transfer l
    WHERE l.contract = f.address AND l.standard = 'ERC721' AND ${isLeftOut}) FROM ${schema}.fungible f`,
};

const shownColumns = new Map<string, string>();

async function columnsOf(view: string): Promise<string> {
  const known = shownColumns.get(view);
  if (known) return known;
  const { rows } = await database.pool.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns
     WHERE table_schema = 'nft' AND table_name = $1 AND column_name <> 'chain_id' ORDER BY ordinal_position`,
    [view],
  );
  const columns = rows.map(({ name }) => name).join(", ");
  shownColumns.set(view, columns);
  return columns;
}

async function differences(): Promise<Record<string, unknown[]>> {
  const found: Record<string, unknown[]> = {};
  for (const [view, sql] of Object.entries(recomputed)) {
    const shown = `SELECT ${await columnsOf(view)} FROM nft.${view}`;
    const { rows } = await database.pool.query(
      `(SELECT 'only in view' AS side, * FROM (${shown} EXCEPT ALL (${sql})) a)
       UNION ALL (SELECT 'only in ledger', * FROM ((${sql}) EXCEPT ALL ${shown}) b)`,
    );
    if (rows.length > 0) found[view] = rows;
  }
  return found;
}

const ledgerRow = fc.record({
  block: fc.integer({ min: 1, max: 12 }),
  log: fc.integer({ min: 0, max: 5 }),
  batch: fc.integer({ min: 0, max: 2 }),
  contract: fc.integer({ min: 1, max: 3 }),
  tokenId: fc.constantFrom(0n, 1n, 2n, maxUint256),
  from: fc.integer({ min: 0, max: 4 }),
  to: fc.integer({ min: 0, max: 4 }),
  amount: fc.constantFrom(0n, 1n, 5n, maxUint256),
  standard: fc.constantFrom("ERC721" as const, "ERC1155" as const),
});
const keyOf = (row: LedgerRow) => `${row.block}_${row.log}_${row.batch}`;
const product = fc.record({
  block: fc.integer({ min: 1, max: 12 }),
  contract: fc.integer({ min: 1, max: 3 }),
  owner: fc.integer({ min: 1, max: 4 }),
});
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      add: fc.uniqueArray(ledgerRow, { selector: keyOf, minLength: 1, maxLength: 25 }),
      products: fc.uniqueArray(product, { selector: ({ contract }) => contract, maxLength: 2 }),
      // Ponder writes and deletes the rows of a block table by table, in any order.
      productsFirst: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ cutFrom: fc.integer({ min: 1, max: 12 }), productsFirst: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ dropEvery: fc.integer({ min: 1, max: 4 }) }) },
  // What is found out of a contract, and so many portions of what follows from it.
  {
    weight: 2,
    arbitrary: fc.record({
      contract: fc.integer({ min: 1, max: 3 }),
      fungible: fc.boolean(),
      portions: fc.integer({ min: 1, max: 3 }),
      size: fc.integer({ min: 1, max: 4 }),
    }),
  },
);

async function findOut(contract: number, fungible: boolean): Promise<void> {
  await database.pool.query(
    "INSERT INTO service.contract_metadata VALUES (31337, $1, $2) ON CONFLICT (chain_id, address) DO UPDATE SET fungible = $2",
    [address(contract + 100), fungible],
  );
}

async function moveFungible(portions: number, size: number): Promise<void> {
  const client = await database.pool.connect();
  let failed = true;
  try {
    for (let done = 0; done < portions; done += 1)
      if ((await moveOneFungible(client as unknown as pg.Client, { chainId: 31337, schema }, size)) === "done") break;
    failed = false;
  } finally {
    client.release(failed);
  }
}

// While a backfill runs, the index by token is missing: rows are then taken back in another way.
const withIndex = readIndexStatements(schema).filter((statement) => statement.includes(" transfer_token "));
test.each([
  ["without", []],
  ["with", withIndex],
])(
  "state equals a recomputation from the ledger after any mix of inserts, deletes and what turns out to be of ERC-20, %s the index by token",
  async (_name, indexes) => {
    await database.pool.query(`DROP INDEX IF EXISTS ${schema}.transfer_token`);
    for (const statement of indexes) await database.pool.query(statement);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const present = new Map<string, LedgerRow>();
        const deployed = new Map<number, ProductRow>();
        await database.pool.query(`DELETE FROM ${schema}.transfer`);
        await database.pool.query(`DELETE FROM ${schema}.product`);
        for (const now of steps) {
          const inOrder = async (...changes: (() => Promise<unknown>)[]) => {
            if ("productsFirst" in now && now.productsFirst) changes.reverse();
            for (const change of changes) await change();
          };
          if ("add" in now) {
            // An ERC-721 log moves one token; its amount is always 1.
            const rows = now.add
              .filter((row) => !present.has(keyOf(row)))
              .map((row) => (row.standard === "ERC721" ? { ...row, amount: 1n } : row));
            for (const row of rows) present.set(keyOf(row), row);
            const products = now.products.filter(({ contract }) => !deployed.has(contract));
            for (const each of products) deployed.set(each.contract, each);
            await inOrder(
              () => insertRows(database.pool, schema, rows),
              () => insertProducts(database.pool, schema, products),
            );
          } else if ("contract" in now) {
            await findOut(now.contract, now.fungible);
            await moveFungible(now.portions, now.size);
          } else {
            const gone = [...present.values()].filter((row, index) =>
              "cutFrom" in now ? row.block >= now.cutFrom : index % now.dropEvery === 0,
            );
            for (const row of gone) present.delete(keyOf(row));
            const from = "cutFrom" in now ? now.cutFrom : Number.MAX_SAFE_INTEGER;
            for (const { block, contract } of deployed.values()) if (block >= from) deployed.delete(contract);
            await inOrder(
              () => deleteRows(database.pool, schema, gone),
              () => database.pool.query(`DELETE FROM ${schema}.product WHERE block_number >= ${from}`),
            );
          }
          expect(await differences()).toEqual({});
        }
      }),
      { numRuns: 20 },
    );
    await database.pool.query(`DELETE FROM ${schema}.transfer`);
    await database.pool.query(`DELETE FROM ${schema}.product`);
    expect(await differences()).toEqual({});
    await database.pool.query("DELETE FROM service.contract_metadata");
    await moveFungible(100, 1);
    expect(
      (await database.pool.query("SELECT FROM nft.fungible_contracts WHERE below > 0 OR transfers > 0")).rowCount,
    ).toBe(0);
  },
);

/** Movements of a token that do not start where the one before ended, or go from nobody to nobody, over the whole ledger. */
const breaks = `SELECT contract, token_id, count(*) AS breaks FROM (SELECT contract, token_id, from_address, to_address,
      lag(to_address) OVER (PARTITION BY contract, token_id ORDER BY ${place}) AS before
    FROM ${ledger} r WHERE standard = 'ERC721') m
  WHERE from_address <> before OR (from_address = ${zero} AND to_address = ${zero}) GROUP BY 1, 2`;

/** Tokens whose inconsistent movements are counted otherwise. */
async function wrongBreaks(): Promise<unknown[]> {
  const { rows } = await database.pool.query(
    `SELECT * FROM (${breaks}) e FULL JOIN (SELECT contract, token_id, breaks FROM ${schema}.token WHERE breaks <> 0) f
     USING (contract, token_id) WHERE e.breaks IS DISTINCT FROM f.breaks`,
  );
  return rows;
}

test.each([
  ["without", []],
  ["with", withIndex],
])(
  "what is of ERC-20 is left out whatever comes, goes or is found out later, and its ERC-1155 stays, %s the index by token",
  async (_name, indexes) => {
    await database.pool.query(`DROP INDEX IF EXISTS ${schema}.transfer_token`);
    for (const statement of indexes) await database.pool.query(statement);
    const row = { contract: 1, batch: 0, log: 0, amount: 1n, from: 0, standard: "ERC721" as const };
    // Values of an ERC-20: none, a usual one, all; minted, moved, burned. Token 2 has events of both standards.
    const first: LedgerRow[] = [
      { ...row, block: 1, tokenId: 0n, to: 1 },
      { ...row, block: 2, tokenId: 2n, to: 1 },
      { ...row, block: 3, tokenId: 2n, from: 2, to: 3 },
      { ...row, block: 4, tokenId: maxUint256, from: 1, to: 2 },
      { ...row, block: 5, tokenId: 2n, to: 3, amount: 5n, standard: "ERC1155" },
      { ...row, block: 6, tokenId: 2n, to: 4, amount: 6n, standard: "ERC1155" },
      { ...row, block: 1, log: 1, contract: 2, tokenId: 0n, to: 1 },
    ];
    const ids = async () =>
      (await database.pool.query("SELECT contract, token_id FROM nft.tokens ORDER BY 1, 2")).rows.map(
        (token) => `${token.contract[0] - 100} ${token.token_id}`,
      );
    const holds = async (expected: string[]) => {
      expect(await differences()).toEqual({});
      expect(await wrongBreaks()).toEqual([]);
      expect(await ids()).toEqual(expected);
    };
    await insertRows(database.pool, schema, first);
    await holds(["1 0", "1 2", `1 ${maxUint256}`, "2 0"]);
    await findOut(1, true);
    await moveFungible(1, 1);
    await holds(["1 2", `1 ${maxUint256}`, "2 0"]);
    // A row comes on either side of what was left out so far.
    const halfway = [0n, 3n].map((tokenId): LedgerRow => ({ ...row, block: 7, log: Number(tokenId), tokenId, to: 1 }));
    await insertRows(database.pool, schema, halfway);
    await holds(["1 2", "1 3", `1 ${maxUint256}`, "2 0"]);
    await moveFungible(10, 1);
    await holds(["1 2", "2 0"]);
    await findOut(1, false);
    await moveFungible(10, 2);
    await holds(["1 0", "1 2", "1 3", `1 ${maxUint256}`, "2 0"]);
    await findOut(1, true);
    await moveFungible(10, 2);
    await holds(["1 2", "2 0"]);
    // Reorganisations, of both standards.
    await deleteRows(database.pool, schema, [...halfway, ...first.slice(4, 5)]);
    await holds(["1 2", "2 0"]);
    await deleteRows(database.pool, schema, first.slice(3, 6));
    await holds(["2 0"]);
    await insertRows(database.pool, schema, first.slice(3, 6));
    await holds(["1 2", "2 0"]);
    await findOut(1, false);
    await moveFungible(1, 1);
    await holds(["1 2", `1 ${maxUint256}`, "2 0"]);
    await moveFungible(10, 1);
    await holds(["1 0", "1 2", `1 ${maxUint256}`, "2 0"]);
    // A contract that the ledger has only later.
    await deleteRows(database.pool, schema, first);
    await findOut(1, true);
    await moveFungible(10, 1);
    await insertRows(database.pool, schema, first);
    await holds(["1 2", "2 0"]);
    await deleteRows(database.pool, schema, first);
    await findOut(1, false);
    await moveFungible(10, 1);
    await holds([]);
  },
);

test("inconsistent movements are counted alike batch by batch, after cuts at the end, and over the whole ledger", async () => {
  const batch = fc.array(ledgerRow, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(batch, fc.boolean()), { minLength: 2, maxLength: 6 }), async (batches) => {
      await database.pool.query(`DELETE FROM ${schema}.transfer`);
      for (const [block, [rows, cut]] of batches.entries()) {
        const unique = new Map(rows.map((row) => [keyOf({ ...row, block }), { ...row, block }]));
        await insertRows(database.pool, schema, [...unique.values()]);
        if (cut) await database.pool.query(`DELETE FROM ${schema}.transfer WHERE block_number > ${block - 2}`);
        expect(await wrongBreaks()).toEqual([]);
      }
    }),
    { numRuns: 40 },
  );
  await database.pool.query(`DELETE FROM ${schema}.transfer`);
});

test("an owner from before the first indexed block is found again after the token came back", async () => {
  const moved = { contract: 1, tokenId: 7n, batch: 0, log: 0, amount: 1n, standard: "ERC721" as const };
  const rows = [
    { ...moved, block: 1, from: 1, to: 2 },
    { ...moved, block: 2, from: 2, to: 1 },
  ];
  await insertRows(database.pool, schema, rows);
  const { rows: held } = await database.pool.query(
    "SELECT owner, mint_block FROM nft.holdings JOIN nft.tokens USING (contract, token_id, owner)",
  );
  expect(held).toEqual([{ owner: Buffer.alloc(20, 1), mint_block: null }]);
  await deleteRows(database.pool, schema, rows);
});

test("sums beyond 2^256 neither fail nor saturate", async () => {
  const mint = {
    contract: 1,
    tokenId: maxUint256,
    log: 0,
    block: 1,
    from: 0,
    to: 1,
    amount: maxUint256,
    standard: "ERC1155" as const,
  };
  const rows = Array.from({ length: 12 }, (_, batch) => ({ ...mint, batch }));
  await insertRows(database.pool, schema, rows);
  const { rows: tokens } = await database.pool.query("SELECT supply FROM nft.tokens");
  expect(tokens).toEqual([{ supply: String(12n * maxUint256) }]);
  await deleteRows(database.pool, schema, rows);
});
