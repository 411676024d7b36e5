import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { bindToTenant, setTenant, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { wait } from "../setup/wait.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

const visible = "SELECT id FROM service.account";

/** Two accounts, and a pool whose one connection they take in turns. */
async function twoTenants() {
  const account = () => createAccount(database.db, "pepper", { name: "tenant", tier: "free", key: randomUUID() });
  const [one, two] = [await account(), await account()];
  return { one, two, pool: createPool(database.url, "test", 1, { tenants: true }) };
}

async function asTenant<T>(id: string, run: () => Promise<T>): Promise<T> {
  return await withTenantScope(async () => {
    setTenant(id);
    return await run();
  });
}

test("a statement that waited for a connection is bound to its own tenant, not to the one that gave it up", async () => {
  const { one, two, pool } = await twoTenants();
  try {
    const rows = await asTenant(one, async () => {
      const held = await pool.connect();
      expect((await held.query(visible)).rows).toEqual([{ id: one }]);
      const waiting = asTenant(two, async () => (await pool.query(visible)).rows);
      await wait("one who waits for the connection", () => pool.waitingCount > 0);
      held.release();
      return await waiting;
    });
    expect(rows).toEqual([{ id: two }]);
  } finally {
    await pool.end();
  }
});

test("a setting that a transaction took back is made again: after a rollback, and after a commit that was one", async () => {
  const { one, two, pool } = await twoTenants();
  try {
    for (const end of ["ROLLBACK", "COMMIT"]) {
      await asTenant(one, () => pool.query(visible));
      const command = await asTenant(two, async () => {
        const client = await pool.connect();
        await client.query("BEGIN");
        expect((await client.query(visible)).rows).toEqual([{ id: two }]);
        await expect(client.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
        const answer = await client.query(end);
        client.release();
        return answer.command;
      });
      expect(command).toBe("ROLLBACK");
      expect((await asTenant(two, () => pool.query(visible))).rows).toEqual([{ id: two }]);
      expect((await asTenant(one, () => pool.query(visible))).rows).toEqual([{ id: one }]);
    }
  } finally {
    await pool.end();
  }
});

/** A connection of tenants. @param each runs the statements one by one. */
async function watched(each: (text: string, run: () => Promise<unknown>) => Promise<unknown>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, options: "-c role=mintyard_api" });
  await client.connect();
  const query = client.query.bind(client);
  client.query = ((text: string, values: unknown[]) => each(text, () => query(text, values))) as typeof client.query;
  bindToTenant(client);
  return client;
}

test("a connection has one statement at a time, and those asked at once are each of their own tenant", async () => {
  const { one, two, pool } = await twoTenants();
  await pool.end();
  let [running, most] = [0, 0];
  const client = await watched(async (_text, run) => {
    running += 1;
    most = Math.max(most, running);
    return await run().finally(() => {
      running -= 1;
    });
  });
  try {
    for (const id of [one, two, one]) expect((await asTenant(id, () => client.query(visible))).rows).toEqual([{ id }]);
    expect(most).toBe(1);
    const asked = [two, one, two, one].map((id) => asTenant(id, async () => (await client.query(visible)).rows));
    expect(await Promise.all(asked)).toEqual([two, one, two, one].map((id) => [{ id }]));
  } finally {
    await client.end();
  }
});

test("no statement of another tenant comes between a setting and the statement that it was made for", async () => {
  const { one, two, pool } = await twoTenants();
  await pool.end();
  let whenSet = async () => {};
  const client = await watched((text, run) => {
    const answer = run();
    if (text.startsWith("SELECT set_config")) answer.then(() => whenSet());
    return answer;
  });
  try {
    for (let turns = 0; turns < 20; turns += 1) {
      await asTenant(two, () => client.query(visible));
      let other: Promise<unknown> | null = null;
      whenSet = async () => {
        whenSet = async () => {};
        for (let turn = 0; turn < turns; turn += 1) await null;
        other = asTenant(two, async () => (await client.query(visible)).rows);
      };
      const { rows } = await asTenant(one, () => client.query(visible));
      expect(rows, `${turns} turns later`).toEqual([{ id: one }]);
      expect(await other).toEqual([{ id: two }]);
    }
  } finally {
    await client.end();
  }
});

test("a statement whose tenant cannot be set fails, and is not asked for another tenant", async () => {
  const { one, two, pool } = await twoTenants();
  try {
    const client = await pool.connect();
    await asTenant(one, () => client.query(visible));
    await client.query("BEGIN");
    await expect(client.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
    await expect(asTenant(two, () => client.query(visible))).rejects.toThrow("current transaction is aborted");
    const error = await asTenant(two, () => new Promise((done) => client.query(visible, (failure) => done(failure))));
    expect(error).toMatchObject({ code: "25P02" });
    await client.query("ROLLBACK");
    expect((await asTenant(two, () => client.query(visible))).rows).toEqual([{ id: two }]);
    client.release();
  } finally {
    await pool.end();
  }
});
