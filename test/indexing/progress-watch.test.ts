import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/indexing/nft-views.ts";
import { ProgressWatch, readRunDelay } from "../../src/indexing/supervise-ponder.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

const second = 1_000;
let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  client = await connect(database.url, "progress-watch-test");
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
  // What was written counts when PostgreSQL has counted it, which it puts off.
  await client.query("SELECT pg_stat_force_next_flush()");
}

function watched(part: "backfill" | "live") {
  const gateway = { answered: 0, running: 0, oldestMs: 0 };
  const delay = { ms: 0 };
  const watch = new ProgressWatch(client, { activity: () => gateway }, "c1_stalled", async () => delay.ms);
  const start = Date.now();
  const look = (head: bigint | null, seconds: number) => watch.look(part, head, start + seconds * second);
  /** Looks each ten seconds of a time, as the launcher does each second. */
  const until = async (head: bigint | null, from: number, to: number) => {
    const seen = [];
    for (let at = from; at <= to; at += 10) seen.push(await look(head, at));
    return seen;
  };
  return { gateway, delay, look, until };
}

test("an index that stands below the nodes' head is stalled after a minute, however much Ponder asks", async () => {
  const { gateway, look, until } = watched("live");
  await indexed(100);
  // A quiet chain: nothing moves because there is nothing new.
  expect(await look(100n, 0)).toMatchObject({ isLevel: true, waitsFor: null, isStalled: false });
  expect(await look(100n, 3_600)).toMatchObject({ isLevel: true, isStalled: false });
  for (const progress of await until(105n, 3_610, 3_650)) {
    gateway.answered += 50;
    expect(progress).toMatchObject({ isLevel: false, isStalled: false });
  }
  expect(await look(110n, 3_670)).toMatchObject({ waitsFor: "indexer", isStalled: true });
  await indexed(101);
  expect(await look(110n, 3_671)).toMatchObject({ isLevel: false, waitsFor: null, isStalled: false });
});

test("while a question is with the nodes an index may stand for longer, and readers are told what it waits for", async () => {
  const { gateway, look, until } = watched("live");
  await indexed(100);
  await look(100n, 0);
  gateway.oldestMs = 4_000;
  expect(new Set((await until(105n, 20, 290)).map(({ waitsFor, isStalled }) => `${waitsFor} ${isStalled}`))).toEqual(
    new Set(["nodes false"]),
  );
  expect(await look(105n, 310)).toMatchObject({ waitsFor: "nodes", isStalled: true });
  // No node tells its head: nothing says that the index is behind.
  expect(await watched("live").look(null, 20)).toMatchObject({ isStalled: false });
});

test("time in which it waits for the processor does not count, but has an end", async () => {
  const { delay, look } = watched("live");
  await indexed(100);
  await look(100n, 0);
  for (let at = 10; at <= 500; at += 10) {
    delay.ms += 10 * second;
    const { waitsFor, isStalled } = await look(105n, at);
    if (at > 10) expect([waitsFor, isStalled]).toEqual(["processor", false]);
  }
  for (let at = 510; at <= 620; at += 10) {
    delay.ms += 10 * second;
    await look(105n, at);
  }
  expect(await look(105n, 630)).toMatchObject({ isStalled: true });
});

test("a backfill moves while it writes or is answered, and is stalled after three minutes without", async () => {
  const { gateway, look, until } = watched("backfill");
  await indexed(1);
  await look(900n, 0);
  await indexed(1);
  expect(await look(900n, 170)).toMatchObject({ isStalled: false });
  gateway.answered += 1;
  expect(await look(900n, 340)).toMatchObject({ isStalled: false });
  expect((await until(900n, 350, 510)).some(({ isStalled }) => isStalled)).toBe(false);
  expect(await look(900n, 530)).toMatchObject({ waitsFor: "indexer", isStalled: true });
});

test("the system tells how long a process waited for the processor", async () => {
  expect(await readRunDelay([process.pid])).toBeGreaterThanOrEqual(0);
  // One that does not run has not waited.
  expect(await readRunDelay([2 ** 30])).toBe(0);
});
