import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { NftViews } from "../../src/db/tables/nft.ts";
import { connect, ensureNftViews } from "../../src/indexing/nft-views.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/wait.ts";
import { createLedger, insertRows } from "./ledger-fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterAll(() => database.drop());

/** The columns that readers are promised, in the words of src/db/tables/nft.ts. */
const movement = [
  ...(["chain_id", "block_number", "log_index", "batch_index", "block_hash", "block_timestamp", "tx_hash"] as const),
  ...(["tx_from", "contract", "token_id", "from_address", "to_address", "operator", "amount", "standard"] as const),
];
const promised: { [view in keyof NftViews]: (keyof NftViews[view])[] } = {
  "nft.transfers": movement,
  "nft.transfer_rows": movement,
  "nft.tokens": [
    ...(["chain_id", "contract", "token_id", "standard", "supply", "owner", "mint_block", "mint_log_index"] as const),
    ...(["mint_batch_index", "mint_timestamp", "mint_tx", "creator", "transfer_count"] as const),
    ...(["last_block", "last_log_index", "last_batch_index"] as const),
  ],
  "nft.holdings": ["chain_id", "contract", "token_id", "owner", "amount", "standard"],
  "nft.holding_rows": [
    ...(["chain_id", "contract", "token_id", "owner", "amount", "standard", "creator", "mint_timestamp"] as const),
  ],
  "nft.contracts": [
    "chain_id",
    "address",
    "standard",
    "first_block",
    "token_count",
    "token_count_ever",
    "transfer_count",
  ],
  "nft.collections": [
    ...(["chain_id", "address", "owner", "intent_id", "factory", "block_number", "block_hash"] as const),
    ...(["block_timestamp", "tx_hash"] as const),
  ],
  "nft.products": [
    ...(["chain_id", "address", "owner", "intent_id", "operator", "block_number", "block_hash"] as const),
    ...(["block_timestamp", "tx_hash"] as const),
  ],
  "nft.account_totals": ["chain_id", "owner", "standard", "holding_count"],
  "nft.contract_flags": ["chain_id", "contract", "flag", "count"],
  "nft.fungible_contracts": ["chain_id", "contract", "below", "transfers"],
  "nft.rejected_logs": [
    ...([
      "chain_id",
      "block_number",
      "log_index",
      "block_timestamp",
      "tx_hash",
      "contract",
      "event",
      "reason",
    ] as const),
  ],
  "nft.token_ranges": [
    ...(["chain_id", "block_number", "log_index", "block_timestamp", "tx_hash", "tx_from", "contract"] as const),
    ...(["from_token_id", "to_token_id", "from_address", "to_address", "tokens", "listed"] as const),
  ],
  "nft.metadata_updates": [
    ...([
      "chain_id",
      "block_number",
      "log_index",
      "block_timestamp",
      "contract",
      "from_token_id",
      "to_token_id",
    ] as const),
  ],
  "nft.contract_updates": ["chain_id", "block_number", "log_index", "block_timestamp", "contract"],
  "nft.heads": ["chain_id", "block_number", "block_timestamp"],
};

async function expectViewsAsPromised(): Promise<void> {
  for (const [view, columns] of Object.entries(promised)) {
    const { rows, fields } = await database.pool.query(`SELECT * FROM ${view}`);
    expect({ view, columns: fields.map(({ name }) => name), rows }).toEqual({ view, columns, rows: [] });
  }
}

test("before any chain is indexed the views exist, typed and empty, whoever comes first", async () => {
  await Promise.all(Array.from({ length: 4 }, () => ensureNftViews(database.url)));
  await expectViewsAsPromised();
});

test("views that have not changed are not replaced, and so wait for no reader", async () => {
  const reader = await database.pool.connect();
  await reader.query("BEGIN");
  await reader.query("SELECT * FROM nft.tokens");
  await ensureNftViews(database.url);
  await reader.query("COMMIT");
  reader.release();
});

test("a view of another shape, from another version, is replaced together with what hangs on it", async () => {
  await database.pool.query("DROP VIEW nft.heads CASCADE; CREATE VIEW nft.heads AS SELECT 1 AS height");
  await database.pool.query("CREATE VIEW public.lag AS SELECT height FROM nft.heads");
  // One that another of them reads.
  await database.pool.query("DROP VIEW nft.transfer_rows CASCADE; CREATE VIEW nft.transfer_rows AS SELECT 1 AS height");
  await database.pool.query("CREATE VIEW nft.transfers AS SELECT height FROM nft.transfer_rows");
  await database.pool.query("DELETE FROM nft.published WHERE view_name IN ('heads', 'transfer_rows')");
  await ensureNftViews(database.url);
  await expectViewsAsPromised();
  // The analysts' view on it fell with it, and stands again.
  expect((await database.pool.query("SELECT block_number FROM analytics.chains")).rows).toEqual([]);
});

test("a live schema that somebody dropped by hand does not take the other chains along", async () => {
  await database.pool.query("INSERT INTO nft.index_version VALUES ('c1_gone', 1, '0x00', true)");
  await ensureNftViews(database.url);
  await expectViewsAsPromised();
});

test("a live schema of an older version, which lacks a table, is shown with what it has", async () => {
  await database.pool.query("DELETE FROM nft.index_version");
  await createSchema("c2_older");
  await database.pool.query("DROP TABLE c2_older.fungible");
  await database.pool.query("INSERT INTO nft.index_version VALUES ('c2_older', 2, '0x00', true)");
  await ensureNftViews(database.url);
  const { rows } = await database.pool.query("SELECT chain_id, contract FROM nft.metadata_updates");
  expect(rows).toEqual([{ chain_id: 2, contract: Buffer.from([1]) }]);
  expect((await database.pool.query("SELECT * FROM nft.contract_updates")).rows).toEqual([]);
  const movements = await database.pool.query("SELECT chain_id, token_id FROM nft.transfers");
  expect(movements.rows).toEqual([{ chain_id: 2, token_id: "7" }]);
});

test("movements are compared with contracts of ERC-20 from when a chain has one", async () => {
  await createSchema("c3_new");
  await database.pool.query("INSERT INTO nft.index_version VALUES ('c3_new', 3, '0x00', true)");
  const publish = async () => {
    await ensureNftViews(database.url);
    const { rows } = await database.pool.query(
      "SELECT pg_get_viewdef('nft.transfers') AS definition, ARRAY(SELECT chain_id FROM nft.transfers ORDER BY 1) AS chains",
    );
    return [String(rows[0].definition).includes("fungible_contracts"), rows[0].chains];
  };
  expect(await publish()).toEqual([false, [2, 3]]);
  const contract = [Buffer.alloc(20, 101)];
  await database.pool.query("INSERT INTO c3_new.fungible VALUES ($1, 'Infinity', 1)", contract);
  expect(await publish()).toEqual([true, [2]]);
  // Also when it turned out to be a collection: the views do not go back and forth.
  await database.pool.query("UPDATE c3_new.fungible SET below = 0, transfers = 0");
  expect(await publish()).toEqual([true, [2, 3]]);
});

test("a reader that holds one view and waits for another is answered while both are replaced", async () => {
  await createSchema("c4_next");
  await database.pool.query("INSERT INTO nft.index_version VALUES ('c4_next', 4, '0x00', true)");
  const [holder, reader] = [await connect(database.url, "holder"), await connect(database.url, "reader")];
  try {
    await holder.query("BEGIN; SELECT FROM nft.tokens");
    await reader.query("BEGIN; SELECT FROM nft.heads");
    const published = ensureNftViews(database.url);
    const waitsForTokens = "SELECT FROM pg_locks WHERE relation = 'nft.tokens'::regclass AND NOT granted";
    await expect.poll(async () => (await database.pool.query(waitsForTokens)).rowCount, patient).toBe(1);
    // The views of movements are replaced by now, in a transaction that has not ended; the one of heads comes last.
    const read = reader.query("SELECT chain_id FROM nft.transfers ORDER BY 1");
    await sleep(500);
    await holder.query("COMMIT");
    // PostgreSQL would end it after a second, while the publisher waits for the view of heads.
    expect((await read).rows).toEqual([{ chain_id: 2 }, { chain_id: 3 }]);
    await reader.query("COMMIT");
    await published;
    const { rows } = await database.pool.query("SELECT chain_id FROM nft.transfers ORDER BY 1");
    expect(rows).toEqual([{ chain_id: 2 }, { chain_id: 3 }, { chain_id: 4 }]);
  } finally {
    await Promise.all([holder.end(), reader.end()]);
  }
});

/** The tables of the index before it had updates of contracts. */
async function createSchema(schema: string): Promise<void> {
  await createLedger(database.pool, schema);
  const moved = { contract: 1, tokenId: 7n, batch: 0, log: 0, amount: 1n, standard: "ERC721" as const };
  await insertRows(database.pool, schema, [{ ...moved, block: 1, from: 0, to: 2 }]);
  await database.pool.query(`CREATE TABLE ${schema}.collection (address bytea, owner bytea, intent_id bytea, factory bytea,
    block_number bigint, block_hash bytea, block_timestamp bigint, tx_hash bytea)`);
  await database.pool.query(`CREATE TABLE ${schema}.metadata_update (block_number bigint, log_index integer,
    block_timestamp bigint, contract bytea, from_token_id numeric(78), to_token_id numeric(78))`);
  await database.pool.query(`CREATE TABLE ${schema}._ponder_checkpoint (latest_checkpoint text)`);
  await database.pool.query(`INSERT INTO ${schema}.metadata_update VALUES (1, 0, 0, '\\x01', 0, 1)`);
}
