import { type SqlBool, sql } from "kysely";
import { afterAll, beforeEach, expect, test } from "vitest";
import { claimRows, dueRows, inSeconds, isHeld, noLease, renewLease, type WorkQueue } from "../../src/db/lease.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";

const queue: WorkQueue = {
  table: "service.contract_metadata",
  scope: { chain_id: 1 },
  key: ["address"],
  due: "next_attempt_at",
  attempts: "attempts",
  named: true,
};
const ids = { first: "00000000-0000-4000-8000-000000000001", second: "00000000-0000-4000-8000-000000000002" };
const address = (number: number) => Buffer.alloc(20, number);
let database: TestDatabase;

beforeEach(async () => {
  database ??= await createTestDatabase();
  await database.pool.query("DELETE FROM service.contract_metadata");
  // 3 waits longest; 9 is due in an hour, and chain 2 is another queue.
  await database.pool.query(
    `INSERT INTO service.contract_metadata (chain_id, address, next_attempt_at)
      SELECT chain, decode(repeat(lpad(to_hex(number), 2, '0'), 20), 'hex'), clock_timestamp() + due * interval '1 minute'
      FROM (VALUES (1, 1, -1), (1, 2, -2), (1, 3, -3), (1, 9, 60), (2, 4, -9)) AS row (chain, number, due)`,
  );
});
afterAll(() => database.drop());

async function claim(id: string, limit: number, db = database.db): Promise<number[]> {
  const lease = { seconds: 60, id };
  const { rows } = await claimRows<{ address: Buffer }>(
    ...([queue, dueRows(queue, limit), lease, sql`m.address`] as const),
  ).execute(db);
  return rows.map((row) => row.address[0] ?? 0).sort();
}

async function rowOf(number: number) {
  return await database.db
    .selectFrom("service.contract_metadata")
    .select(["attempts", "lease_id", "symbol", sql<SqlBool>`lease_until > clock_timestamp()`.as("leased")])
    .where("address", "=", address(number))
    .executeTakeFirstOrThrow();
}

test("what waits longest is claimed first, once, and counted; another queue and what is not due are left", async () => {
  expect(await claim(ids.first, 2)).toEqual([2, 3]);
  expect(await claim(ids.second, 5)).toEqual([1]);
  expect(await claim(ids.second, 5)).toEqual([]);
  expect(await rowOf(3)).toEqual({ attempts: 1, lease_id: ids.first, symbol: null, leased: true });
});

test("a claim takes no more rows than it may, on a table without statistics too", async () => {
  await database.pool.query(
    `INSERT INTO service.contract_metadata (chain_id, address, next_attempt_at)
      SELECT 1, decode(repeat(lpad(to_hex(number), 2, '0'), 20), 'hex'), clock_timestamp() + (number - 100) * interval '1 minute'
      FROM generate_series(11, 16) number`,
  );
  expect(await claim(ids.first, 1)).toEqual([11]);
});

test("a claim does not wait for one that is under way, and gets other rows", async () => {
  await database.db.transaction().execute(async (transaction) => {
    expect(await claim(ids.first, 2, transaction)).toEqual([2, 3]);
    await database.db.connection().execute(async (other) => {
      // Whoever waits for the transaction, which waits for this, fails.
      await sql`SET lock_timeout = '2s'`.execute(other);
      expect(await claim(ids.second, 2, other)).toEqual([1]);
      await sql`RESET lock_timeout`.execute(other);
    });
  });
});

test("whoever lost its lease can neither renew nor finish what another one holds", async () => {
  await claim(ids.first, 5);
  await database.pool.query(
    "UPDATE service.contract_metadata SET next_attempt_at = clock_timestamp() WHERE chain_id = 1",
  );
  expect(await claim(ids.second, 5)).toContain(3);
  const finish = (lease: string, symbol: string) =>
    database.db
      .updateTable("service.contract_metadata")
      .set({ ...noLease, symbol, next_attempt_at: inSeconds(5) })
      .where(isHeld(queue, { key: [address(3)], lease }))
      .execute();
  const dueSeconds = async () => {
    const { rows } = await database.pool.query<{ seconds: number }>(
      `SELECT extract(epoch FROM next_attempt_at - clock_timestamp())::float8 AS seconds
        FROM service.contract_metadata WHERE address = $1`,
      [address(3)],
    );
    return rows[0]?.seconds ?? 0;
  };
  await finish(ids.first, "LATE");
  await renewLease(database.db, queue, { key: [address(3)], lease: ids.first }, 9_000);
  expect(await rowOf(3)).toMatchObject({ lease_id: ids.second, symbol: null, attempts: 2 });
  expect(await dueSeconds()).toBeLessThan(61);
  await renewLease(database.db, queue, { key: [address(3)], lease: ids.second }, 9_000);
  expect(await dueSeconds()).toBeGreaterThan(8_000);
  await finish(ids.second, "NOW");
  expect(await rowOf(3)).toMatchObject({ lease_id: null, symbol: "NOW" });
});
