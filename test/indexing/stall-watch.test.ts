import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/indexing/nft-views.ts";
import { StallWatch } from "../../src/indexing/stall-watch.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

const minute = 60_000;
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await connect(database.url, "stall-watch-test");
  await client.query("CREATE SCHEMA c1_stalled");
  await client.query("CREATE TABLE c1_stalled._ponder_checkpoint (latest_checkpoint text)");
  await client.query("INSERT INTO c1_stalled._ponder_checkpoint VALUES ('')");
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

/** Timestamp, chain id, block, transaction, type, index: as Ponder writes it. */
async function indexed(block: number): Promise<void> {
  await client.query("UPDATE c1_stalled._ponder_checkpoint SET latest_checkpoint = $1", [
    `${"1".repeat(10)}${"1".padStart(16, "0")}${String(block).padStart(16, "0")}${"0".repeat(33)}`,
  ]);
  // What was written counts as a sign of life when PostgreSQL has counted it, which it puts off.
  await client.query("SELECT pg_stat_force_next_flush()");
}

test("a live index that asks nothing is noticed when the nodes have been ahead of it for three minutes, not before", async () => {
  let served = 0;
  const watch = new StallWatch(client, { activity: () => ({ served, running: 0 }) }, "c1_stalled");
  const start = Date.now();
  const isStuck = (head: bigint, minutes: number) => watch.isStuckBelow(head, start + minutes * minute);
  await indexed(100);
  // A quiet chain: nobody asks because there is nothing new.
  expect([await isStuck(100n, 1), await isStuck(100n, 60)]).toEqual([false, false]);
  // A new block after a quiet hour is no reason yet.
  expect([await isStuck(101n, 61), await isStuck(105n, 62)]).toEqual([false, false]);
  expect(await isStuck(110n, 65)).toBe(true);

  served += 1;
  expect([await isStuck(111n, 66), await isStuck(111n, 68)]).toEqual([false, false]);
  expect(await isStuck(111n, 70)).toBe(true);
  await indexed(111);
  expect([await isStuck(111n, 71), await isStuck(112n, 72)]).toEqual([false, false]);
});
