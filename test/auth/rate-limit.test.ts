import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { admit } from "../../src/accounts/admit.ts";
import { allScopes, createAccount, insertKey } from "../../src/auth/keys.ts";
import { RateLimiter } from "../../src/auth/rate-limit.ts";
import { loadConfig } from "../../src/config/config.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/wait.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database?.drop());

/** So slow that nothing comes back while a test runs. */
const budget = (burst: number) => ({ perSecond: 1 / 86_400, burst });

test("sixteen writers with connections of their own get exactly what the bucket holds, together", async () => {
  const pools = Array.from({ length: 16 }, () => createPool(database.url, "writer", 1));
  try {
    const allowed = await Promise.all(
      pools.map(async (pool) => {
        let count = 0;
        for (let turn = 0; turn < 40; turn += 1) {
          // A limiter for each question: none may use what it has learned.
          if ((await new RateLimiter(pool).take("read:exact", budget(100))).allowed) count += 1;
        }
        return count;
      }),
    );
    expect(allowed.reduce((sum, count) => sum + count)).toBe(100);
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
  }
});

test("a bucket fills at its rate, by the database's clock", async () => {
  const limiter = new RateLimiter(database.pool);
  const slow = { perSecond: 1, burst: 10 };
  for (let turn = 0; turn < 10; turn += 1) expect((await limiter.take("fill", slow)).allowed).toBe(true);
  // Four seconds pass.
  await database.pool.query("UPDATE service.rate SET tat = tat - 4 WHERE k = 'fill'");
  const after = [];
  for (let turn = 0; turn < 3; turn += 1) after.push((await new RateLimiter(database.pool).take("fill", slow)).allowed);
  expect(after).toEqual([true, true, true]);
});

test("a refusal says when it makes sense to come back, and repeating it asks the database nothing", async () => {
  const statements: string[] = [];
  const counting = {
    query: async (query: { text: string }) => {
      statements.push(query.text);
      return await database.pool.query(query as never);
    },
  };
  const limiter = new RateLimiter(counting as never);
  expect(await limiter.take("wait", { perSecond: 0.1, burst: 1 })).toMatchObject({ allowed: true, remaining: 0 });
  const refused = await limiter.take("wait", { perSecond: 0.1, burst: 1 });
  expect(refused.allowed).toBe(false);
  expect(refused.retryAfterSeconds).toBeGreaterThan(0);
  expect(refused.retryAfterSeconds).toBeLessThanOrEqual(10);
  for (let turn = 0; turn < 50; turn += 1)
    expect((await limiter.take("wait", { perSecond: 0.1, burst: 1 })).allowed).toBe(false);
  expect(statements).toHaveLength(2);
});

test("a request that costs more than the bucket holds never passes, and takes nothing", async () => {
  const limiter = new RateLimiter(database.pool);
  expect((await limiter.take("dear", budget(5), 6)).allowed).toBe(false);
  expect(await limiter.take("dear", budget(5), 5)).toMatchObject({ allowed: true, remaining: 0 });
});

test("a key that asks all the time does not ask the database each time, and sees what is left count down by one", async () => {
  const often = { perSecond: 200, burst: 4_000 };
  let statements = 0;
  const limiter = new RateLimiter({
    query: async (query: { text: string }) => {
      statements += 1;
      return await database.pool.query(query as never);
    },
  } as never);
  // What was booked ahead is forgotten after a tenth of a second, which may pass on a busy machine.
  const round = async () => {
    const before = statements;
    let left = Number.NEGATIVE_INFINITY;
    for (let turn = 0; turn < 40; turn += 1) {
      const { allowed, remaining } = await limiter.take("read:often", often);
      expect(allowed).toBe(true);
      expect(remaining).toBeGreaterThanOrEqual(left - 1);
      left = Math.min(remaining, often.burst);
    }
    return statements - before;
  };
  await expect.poll(round, patient).toBeLessThan(20);
});

test("processes that book ahead never give more together than the bucket and its rate", async () => {
  const budget = { perSecond: 200, burst: 400 };
  const pools = Array.from({ length: 16 }, () => createPool(database.url, "writer", 1));
  try {
    let allowed = 0;
    const started = performance.now();
    await Promise.all(
      pools.map(async (pool) => {
        const limiter = new RateLimiter(pool);
        while (performance.now() - started < 1_500) {
          if ((await limiter.take("read:shared", budget)).allowed) allowed += 1;
          await new Promise((done) => setTimeout(done, 1));
        }
      }),
    );
    const seconds = (performance.now() - started) / 1_000;
    // What was booked is used within a tenth of a second.
    expect(allowed).toBeLessThanOrEqual(budget.burst + budget.perSecond * (seconds + 0.1));
  } finally {
    await Promise.all(pools.map((pool) => pool.end()));
  }
});

test("all keys of an account share its rate, over all processes", async () => {
  const config = loadConfig({ DATABASE_URL: database.url, LOG_LEVEL: "silent" });
  const processes = Array.from({ length: 3 }, () => createServices(config, "test", { tenants: true }));
  try {
    const first = randomUUID();
    const account = { name: "many keys", tier: "free" as const, key: first };
    const accountId = await createAccount(database.db, config.keyPepper, account);
    const keys = [first, ...Array.from({ length: 5 }, () => randomUUID())];
    for (const uuid of keys.slice(1))
      await insertKey(database.db, config.keyPepper, {
        accountId,
        name: "more",
        scopes: allScopes,
        spellings: { uuid },
      });
    const started = performance.now();
    const asked = processes.flatMap((services) =>
      keys.map(async (key) => {
        const session = { ...(await services.auth.keys.owner(key)), requestId: "r" };
        let passed = 0;
        for (let turn = 0; turn < 15; turn += 1) {
          await admit(services, session, { scope: "deploy", bucket: "deploy" }, 1, () => undefined).then(
            () => (passed += 1),
            (error: Error) => expect(error).toMatchObject({ code: "rate_limit_exceeded" }),
          );
        }
        return passed;
      }),
    );
    const passed = (await Promise.all(asked)).reduce((sum, count) => sum + count);
    // The free plan: 60 a minute.
    expect(passed).toBeGreaterThanOrEqual(60);
    expect(passed).toBeLessThanOrEqual(60 + (performance.now() - started) / 1_000 + 1);
  } finally {
    for (const services of processes) {
      await services.auth.usage.flush();
      await services.content.close();
      await services.pool.end();
    }
  }
});
