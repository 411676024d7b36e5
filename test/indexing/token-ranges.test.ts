import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ledgerDigest } from "../../schema/ledger-digest.ts";
import { leaveOut, takeIn } from "../../schema/move-fungible.ts";
import { nftViewStatements } from "../../schema/nft-views.ts";
import { rangeAllowance } from "../../schema/range-allowance.ts";
import { readIndexStatements } from "../../schema/read-indexes.ts";
import { listOneLateRange } from "../../src/indexing/late-changes.ts";
import { connect } from "../../src/indexing/nft-views.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { address, createLedger } from "./ledger-fixture.ts";

/** The allowances of the property: small, so that every bound is met. */
const small = { contract: 12, sender: 18, chain: 25, perMovement: 2, contractBlock: 11, block: 15 };
const schemas = { whole: "c1_test", parts: "c2_test", real: "c3_test", plain: "c4_test" };
const day = 86_400;
let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("CREATE SCHEMA nft");
  for (const schema of Object.values(schemas)) {
    await createLedger(database.pool, schema, schema === schemas.real ? rangeAllowance : small);
    await database.pool.query(`CREATE TABLE ${schema}.collection (address bytea, owner bytea, intent_id bytea, factory bytea,
      block_number bigint, block_hash bytea, block_timestamp bigint, tx_hash bytea)`);
    await database.pool.query(`CREATE TABLE ${schema}.metadata_update (block_number bigint, log_index integer,
      block_timestamp bigint, contract bytea, from_token_id numeric(78), to_token_id numeric(78))`);
    await database.pool.query(`CREATE TABLE ${schema}.contract_update (block_number bigint, log_index integer,
      block_timestamp bigint, contract bytea)`);
    await database.pool.query(`CREATE TABLE ${schema}._ponder_checkpoint (latest_checkpoint varchar(75),
      finalized_checkpoint varchar(75))`);
    await database.pool.query(`INSERT INTO ${schema}._ponder_checkpoint VALUES ('', '')`);
    // As Ponder's: a row's change by another session than Ponder's fails.
    await database.pool.query(`CREATE FUNCTION ${schema}.live_query() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO live_query_tables (table_name) VALUES (TG_TABLE_NAME); RETURN NULL; END $$`);
    for (const statement of readIndexStatements(schema)) await database.pool.query(statement);
  }
  const live = Object.values(schemas).map((schema, index) => ({ chainId: index + 1, schema }));
  for (const { sql } of nftViewStatements(live)) await database.pool.query(sql);
});
afterAll(() => database.drop());

/** A movement log; more than one token: a range. */
interface RangeLog {
  block: number;
  log: number;
  contract: number;
  first: number;
  tokens: number;
  from: number;
  to: number;
  sender: number;
  batch?: number;
}

/** As the handler writes it. */
async function emit(schema: string, logs: readonly RangeLog[]): Promise<void> {
  if (logs.length === 0) return;
  const hex = (number: number) => `'\\x${address(number).toString("hex")}'::bytea`;
  const values = logs.map(
    (
      log,
    ) => `(${log.block}, ${log.log}, ${log.tokens > 1 ? -1 : (log.batch ?? 0)}, '\\x01', ${day * 100 + log.block * (day / 4)}, '\\x02',
      ${hex(log.sender)}, ${hex(log.contract)}, ${log.first}, ${hex(log.from)}, ${hex(log.to)}, NULL, ${log.tokens}, 'ERC721')`,
  );
  await database.pool.query(`INSERT INTO ${schema}.transfer VALUES ${values.join(",")}`);
  const ranges = logs.filter(({ tokens }) => tokens > 1).map(({ block, log }) => `(${block}, ${log})`);
  if (ranges.length > 0) await database.pool.query(`INSERT INTO ${schema}.token_range VALUES ${ranges.join(",")}`);
}

/** A contract that is taken for an ERC-20 for a while: which ranges are listed must not depend on it. */
async function move(schema: string, way: typeof leaveOut | typeof takeIn): Promise<void> {
  const all = { contract: address(102), low: "0", high: "Infinity" };
  for (const { text, values } of way(schema, all)) await database.pool.query(text, [...values]);
}

/** As Ponder undoes blocks. */
async function takeBack(schema: string, fromBlock: number): Promise<void> {
  for (const table of ["transfer", "token_range"])
    await database.pool.query(`DELETE FROM ${schema}.${table} WHERE block_number >= ${fromBlock}`);
}

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  return (await database.pool.query<Record<string, unknown>>(sql)).rows;
}

async function stateOf(schema: string) {
  const state: Record<string, unknown> = {};
  for (const [table, order] of [
    ["transfer", "1, 2, 3"],
    ["range_listing", "1, 2"],
    ["range_total WHERE logs <> 0", "1, 2, 3"],
    ["contract_flag WHERE count <> 0", "1, 2"],
    ["contract", "1"],
    ["account_total WHERE holding_count <> 0", "1, 2"],
  ])
    state[String(table)] = await rows(`SELECT * FROM ${schema}.${table} ORDER BY ${order}`);
  const present = "contract, token_id, owner, transfers_721, mint_block, mint_log_index, mint_batch_index, breaks";
  state["token"] = await rows(`SELECT ${present} FROM ${schema}.token ORDER BY 1, 2`);
  return state;
}

/** Which ranges the rule lists, worked out one log after the other. */
function listedOf(logs: readonly RangeLog[]): boolean[] {
  const sums = new Map<string, number>();
  const add = (key: string, count: number) => {
    sums.set(key, (sums.get(key) ?? 0) + count);
    return sums.get(key) ?? 0;
  };
  return logs.flatMap(({ block, contract, sender, tokens }) => {
    const movements = add(`movements ${contract}`, 1);
    if (tokens === 1) return [];
    const ofContract = add(`contract ${contract}`, tokens);
    const onDay = Math.floor(block / 4);
    const fits = add(`contract ${contract} ${block}`, tokens) <= small.contractBlock;
    if (ofContract <= small.perMovement * movements) return [add(`block ${block}`, tokens) <= small.block && fits];
    const ofSender = add(`sender ${sender} ${onDay}`, tokens);
    if (ofContract > small.contract || ofSender > small.sender) return [false];
    return [add(`chain ${onDay}`, tokens) <= small.chain && fits];
  });
}

/** Which of the ranges are listed once the blocks up to this one are final, and these contracts were let in. */
function listedLater(
  logs: readonly RangeLog[],
  listed: boolean[],
  final: number,
  allowed: readonly number[],
): boolean[] {
  const announced = new Map<number, number>();
  const ranges = logs.filter(({ tokens }) => tokens > 1);
  return ranges.map(({ contract, tokens, block }, index) => {
    const sum = (announced.get(contract) ?? 0) + tokens;
    announced.set(contract, sum);
    if (listed[index] || block > final) return listed[index] === true;
    const movements = logs.filter((one) => one.contract === contract && one.block <= final).length;
    return allowed.includes(contract) || sum <= small.perMovement * movements;
  });
}

/** Everything that the ledger is derived to, but for the records of ranges. */
async function derived(schema: string) {
  const { transfer, token, contract, account_total } = (await stateOf(schema)) as Record<string, unknown>;
  const flags = await rows(
    `SELECT * FROM ${schema}.contract_flag WHERE count <> 0 AND flag <> 'withheld' ORDER BY 1, 2`,
  );
  return { transfer, token, contract, account_total, flags };
}

async function listLater(chainId: number, schema: string, final: number): Promise<void> {
  const checkpoint = `${"0".repeat(26)}${String(final).padStart(16, "0")}`;
  await database.pool.query(`UPDATE ${schema}._ponder_checkpoint SET finalized_checkpoint = '${checkpoint}'`);
  const client = await connect(database.url, "late-ranges");
  try {
    while (await listOneLateRange(client, { chainId, schema }, small));
  } finally {
    await client.end();
  }
}

const log: fc.Arbitrary<Omit<RangeLog, "block" | "log">> = fc.record({
  contract: fc.integer({ min: 101, max: 103 }),
  first: fc.integer({ min: 0, max: 6 }),
  tokens: fc.constantFrom(1, 1, 2, 3, 7, 10),
  from: fc.constantFrom(0, 0, 1, 2),
  to: fc.constantFrom(1, 2, 3),
  sender: fc.constantFrom(200, 201),
});

test("ranges are listed by what the chain had before them, whatever the batches, and reorganisations take them back exactly", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(log, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 12, maxLength: 12 }),
      fc.integer({ min: 0, max: 11 }),
      async (blocks, cuts, fork) => {
        const all = blocks.flatMap((logs, block) => logs.map((one, index) => ({ ...one, block, log: index })));
        for (const schema of [schemas.whole, schemas.parts]) await takeBack(schema, 0);
        await emit(schemas.whole, all);
        const shown = await rows(`SELECT listed FROM ${schemas.whole}.range_listing ORDER BY block_number, log_index`);
        expect(shown.map(({ listed }) => listed)).toEqual(listedOf(all));
        // The same logs in other portions, with a branch in between that dies.
        await move(schemas.parts, leaveOut);
        const before = all.filter(({ block }) => block < fork);
        for (let at = 0, turn = 0; at < before.length; turn += 1) {
          const size = cuts[turn % cuts.length] ?? 1;
          await emit(schemas.parts, before.slice(at, at + size));
          at += size;
        }
        await emit(
          schemas.parts,
          all.filter(({ block }) => block >= fork).map((one) => ({ ...one, contract: 101, tokens: 5, sender: 200 })),
        );
        await takeBack(schemas.parts, fork);
        for (let block = fork; block < blocks.length; block += 1)
          await emit(
            schemas.parts,
            all.filter((one) => one.block === block),
          );
        await move(schemas.parts, takeIn);
        expect(await stateOf(schemas.parts)).toEqual(await stateOf(schemas.whole));
      },
    ),
    { numRuns: 40 },
  );
});

/** Contract 102 has nothing but ranges, and its five logs of final blocks earn the first one. */
const onlyRanges = [0, 10, 3, 2, 10, 2].map((tokens) => {
  const other = { contract: 101, first: 0, tokens: 1, from: 0, to: 1, sender: 200 };
  if (tokens === 0) return [{ ...other, tokens: 10, sender: 201 }];
  return [{ ...other, contract: 102, tokens, sender: tokens === 10 ? 201 : 200 }, other];
});

test("withheld ranges of final blocks are listed once their contract earns it or is let in, as if they had been from the first", async () => {
  const { pool } = database;
  await pool.query(`CREATE TRIGGER live_query AFTER INSERT OR UPDATE OR DELETE ON ${schemas.whole}.transfer
    FOR EACH ROW EXECUTE PROCEDURE ${schemas.whole}.live_query()`);
  let late = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(log, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 12 }),
      fc.integer({ min: 0, max: 11 }),
      fc.uniqueArray(fc.integer({ min: 101, max: 103 }), { maxLength: 1 }),
      async (blocks, final, allowed) => {
        const all = blocks.flatMap((logs, block) => logs.map((one, index) => ({ ...one, block, log: index })));
        await pool.query(`ALTER TABLE ${schemas.whole}.transfer DISABLE TRIGGER live_query`);
        for (const schema of [schemas.whole, schemas.plain]) await takeBack(schema, 0);
        await emit(schemas.whole, all);
        await pool.query(`ALTER TABLE ${schemas.whole}.transfer ENABLE TRIGGER live_query`);
        await pool.query("DELETE FROM service.listed_contract");
        for (const contract of allowed)
          await pool.query("INSERT INTO service.listed_contract (chain_id, address) VALUES (1, $1)", [
            address(contract),
          ]);
        const before = listedOf(all);
        const digest = async () => (await rows(ledgerDigest(schemas.whole, "0", "99")))[0];
        const sealed = await digest();
        await move(schemas.whole, leaveOut);
        await listLater(1, schemas.whole, final);
        await move(schemas.whole, takeIn);
        const shown = await rows(
          `SELECT listed, listed_later FROM ${schemas.whole}.range_listing ORDER BY block_number, log_index`,
        );
        const expected = listedLater(all, before, final, allowed);
        expect(shown.map(({ listed }) => listed)).toEqual(expected);
        const isLate = expected.map((listed, index) => listed && before[index] === false);
        expect(shown.map(({ listed_later }) => listed_later)).toEqual(isLate);
        late += isLate.filter(Boolean).length;
        expect(await digest()).toEqual(sealed);

        // The same ledger, written in order, each token by itself.
        const listing = [...expected];
        const each = all.flatMap((one): RangeLog | RangeLog[] => {
          if (one.tokens === 1) return one;
          if (!listing.shift()) return [];
          return Array.from({ length: one.tokens }, (_, at) => ({
            ...one,
            first: one.first + at,
            tokens: 1,
            batch: at,
          }));
        });
        await emit(schemas.plain, each);
        expect(await derived(schemas.whole)).toEqual(await derived(schemas.plain));
        const withheld = await rows(
          `SELECT coalesce(sum(count), 0)::int AS reported FROM ${schemas.whole}.contract_flag WHERE flag = 'withheld'`,
        );
        const ranges = all.filter(({ tokens }) => tokens > 1);
        expect(withheld).toEqual([
          { reported: ranges.reduce((sum, { tokens }, at) => sum + (expected[at] ? 0 : tokens), 0) },
        ]);
        // What came above the final block goes again as if the range had been there from the first.
        await pool.query(`ALTER TABLE ${schemas.whole}.transfer DISABLE TRIGGER live_query`);
        for (const schema of [schemas.whole, schemas.plain]) await takeBack(schema, final + 1);
        expect(await derived(schemas.whole)).toEqual(await derived(schemas.plain));
      },
    ),
    { numRuns: 25, examples: [[onlyRanges, 5, []]] },
  );
  expect(late).toBeGreaterThan(5);
});

test("a collection of 10,000 minted in its constructor is listed whole; a flood beside it is held back, reported, and distinguished", async () => {
  const range = { log: 0, first: 0, tokens: 5_000, from: 0, to: 7, contract: 120, sender: 210, block: 1 };
  await emit(schemas.real, [range, { ...range, log: 1, first: 5_000 }]);
  // Twenty contracts of one sender, the next day's first one among them.
  const flood = Array.from({ length: 20 }, (_, index) => ({
    ...range,
    ...{ block: 4, log: index, contract: 130 + index, sender: 211, tokens: 10_000 },
  }));
  await emit(schemas.real, flood);
  await emit(schemas.real, [{ ...range, block: 5, log: 0, contract: 130, first: 10_000, tokens: 10_000, sender: 212 }]);
  const shown =
    await rows(`SELECT encode(substr(contract, 1, 1), 'hex') AS of, count(*)::int, min(token_id) AS first, max(token_id) AS last
    FROM nft.holdings WHERE chain_id = 3 AND owner = '\\x${address(7).toString("hex")}' GROUP BY 1 ORDER BY 1`);
  expect(shown).toEqual([
    { of: (120).toString(16), count: 10_000, first: "0", last: "9999" },
    { of: (130).toString(16), count: 10_000, first: "0", last: "9999" },
  ]);
  const reported = await rows(`SELECT count(*)::int AS contracts, sum(count)::int AS tokens FROM nft.contract_flags
    WHERE chain_id = 3 AND flag = 'withheld'`);
  expect(reported).toEqual([{ contracts: 20, tokens: 200_000 }]);

  // A token that was held back moves: it is a token like any other, with the chain's owner.
  await emit(schemas.real, [
    { ...range, block: 6, contract: 131, first: 77, tokens: 1, from: 7, to: 8 },
    { ...range, block: 6, log: 1, contract: 131, first: 78, tokens: 1, from: 7, to: 0 },
  ]);
  const moved = await rows(`SELECT token_id, owner, supply::int, mint_block FROM nft.tokens
    WHERE chain_id = 3 AND contract = '\\x${address(131).toString("hex")}' ORDER BY 1`);
  expect(moved).toEqual([
    { token_id: "77", owner: address(8), supply: 1, mint_block: null },
    { token_id: "78", owner: null, supply: 0, mint_block: null },
  ]);
  const [flag] = await rows(`SELECT count FROM nft.contract_flags WHERE chain_id = 3 AND flag = 'inconsistent'`);
  expect(flag).toBeUndefined();
  const [held] = await rows(`SELECT from_token_id, to_token_id, tokens, listed FROM nft.token_ranges
    WHERE chain_id = 3 AND contract = '\\x${address(131).toString("hex")}'`);
  expect(held).toEqual({ from_token_id: "0", to_token_id: "9999", tokens: 10_000n, listed: false });
});
