import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { invariants } from "../../schema/invariants.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { createLedger, insertProducts, insertRows, type LedgerRow } from "./ledger-fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false });
});
afterAll(() => database.drop());

/** Both standards, a burn, a token minted again, a mixed token, a holder below zero, a token whose mint is not indexed. */
const rows: LedgerRow[] = [
  [1, 1, 1n, 0, 1, 1n, "ERC721"],
  [1, 1, 2n, 0, 1, 1n, "ERC721"],
  [2, 1, 1n, 1, 2, 1n, "ERC721"],
  [3, 1, 2n, 1, 0, 1n, "ERC721"],
  [4, 1, 2n, 0, 3, 1n, "ERC721"],
  [4, 1, 9n, 5, 6, 1n, "ERC721"],
  [5, 2, 1n, 0, 1, 10n, "ERC1155"],
  [6, 2, 1n, 1, 2, 4n, "ERC1155"],
  [7, 2, 1n, 2, 0, 1n, "ERC1155"],
  [8, 2, 2n, 4, 5, 3n, "ERC1155"],
  [9, 3, 1n, 0, 1, 1n, "ERC721"],
  [9, 3, 1n, 0, 1, 1n, "ERC1155"],
].map(([block, contract, tokenId, from, to, amount, standard], log) => ({
  ...{ block, log, batch: 0, contract, tokenId, from, to, amount, standard },
})) as LedgerRow[];

beforeEach(async () => {
  await database.pool.query("DROP SCHEMA IF EXISTS c1 CASCADE");
  await createLedger(database.pool, "c1");
  await insertRows(database.pool, "c1", rows);
  await insertProducts(database.pool, "c1", [{ block: 5, contract: 2, owner: 7 }]);
});

async function broken(): Promise<string[]> {
  const found = [];
  for (const { name, sql } of invariants("c1")) {
    const result = await database.pool.query<{ what: string }>(sql);
    for (const { what } of result.rows) expect(what).toMatch(/0x[0-9a-f]{40}/);
    if (result.rows.length > 0) found.push(name);
  }
  return found;
}

test("what the triggers derive from a ledger breaks no rule", async () => {
  expect(await broken()).toEqual([]);
});

const [conserve, counters, totals, owners, balances, tokens, creators] = invariants("c1").map(({ name }) => name);

/** Planted past the triggers, as a lost rollback or a hand in the database would leave it. */
const faults: [name: string, sql: string, breaks: (string | undefined)[]][] = [
  [
    "a wrong owner",
    "UPDATE c1.token SET last_to = decode(repeat('07', 20), 'hex') WHERE token_id = 9",
    [totals, owners],
  ],
  [
    "a burned token that lives",
    "UPDATE c1.token SET last_to = decode(repeat('00', 20), 'hex') WHERE token_id = 9",
    [counters, totals, owners, tokens],
  ],
  [
    "a balance that was not rolled back",
    "UPDATE c1.holding SET amount = amount + 1 WHERE owner = decode(repeat('01', 20), 'hex') AND token_id = 1",
    [conserve, balances],
  ],
  [
    "a balance moved to somebody else",
    "UPDATE c1.holding SET owner = decode(repeat('08', 20), 'hex') WHERE owner = decode(repeat('02', 20), 'hex')",
    [totals, balances],
  ],
  ["a wrong counter", "UPDATE c1.contract SET token_count = token_count + 1", [counters]],
  [
    "a contract without tokens",
    "DELETE FROM c1.token WHERE contract = decode(repeat('67', 20), 'hex')",
    [counters, tokens, creators],
  ],
  ["a wrong total", "DELETE FROM c1.account_total", [totals]],
  [
    "a wrong supply",
    "UPDATE c1.token SET supply_1155 = supply_1155 + 1 WHERE contract = decode(repeat('66', 20), 'hex')",
    [tokens],
  ],
  ["a wrong mint", "UPDATE c1.token SET mint_block = 3 WHERE mint_block = 1", [tokens]],
  [
    "the sender of a mint as the creator in a product contract",
    "UPDATE c1.token SET creator = decode(repeat('c8', 20), 'hex') WHERE creator = decode(repeat('07', 20), 'hex')",
    [creators],
  ],
  ["a product's row lost", "DELETE FROM c1.product", [creators]],
  ["a creator lost", "UPDATE c1.token SET creator = NULL WHERE contract = decode(repeat('67', 20), 'hex')", [creators]],
  [
    "a contract of ERC-20 that is not left out",
    "INSERT INTO c1.fungible VALUES (decode(repeat('65', 20), 'hex'), 'Infinity', 6)",
    [counters, owners, tokens, creators],
  ],
  ["a ledger row lost", "DELETE FROM c1.transfer WHERE block_number = 6", [counters, balances, tokens]],
  [
    "a ledger row twice",
    "INSERT INTO c1.transfer SELECT block_number, log_index, 1, block_hash, block_timestamp, tx_hash, tx_from, contract, token_id, from_address, to_address, operator, amount, standard FROM c1.transfer WHERE block_number = 5",
    [conserve, counters, balances, tokens],
  ],
];

test.each(faults)("%s is found, by the rules that it breaks", async (_name, sql, breaks) => {
  const client = await database.pool.connect();
  try {
    await client.query("SET session_replication_role = replica");
    expect((await client.query(sql)).rowCount).toBeGreaterThan(0);
  } finally {
    await client.query("RESET session_replication_role");
    client.release();
  }
  expect(await broken()).toEqual(breaks);
});
