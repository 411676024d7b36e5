import { createServer, request } from "node:http";
import { type AddressInfo, connect, createServer as createRelay } from "node:net";
import { constants, getPriority } from "node:os";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DatabaseTime, freeMinutesOfDay } from "../../src/db/pool/database-time.ts";
import { closeReads, openReads } from "../../src/db/pool/open-reads.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { ReadConnections } from "../../src/db/pool/read-connections.ts";
import { type Reader, RequestEnd, withReadScope } from "../../src/db/tenancy/tenant.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/wait.ts";

// No time is over here by itself: what ends a statement is what the test does.
const forEver = 600_000;
let database: TestDatabase;
let reads: ReadConnections;
beforeAll(async () => {
  database = await createTestDatabase();
  const options = { tenants: false, statementTimeout: forEver, reads: true } as const;
  reads = new ReadConnections(createPool(database.url, "heavy-test", 1, options), {
    ...{ most: 1, waiting: 4, waitMs: forEver },
  });
});
afterAll(async () => {
  await reads?.end();
  await database?.drop();
});

/** Texts of statements that the one connection runs now. */
async function running(): Promise<string[]> {
  const { rows } = await database.pool.query(
    "SELECT query FROM pg_stat_activity WHERE application_name = 'mintyard-heavy-test' AND state = 'active'",
  );
  return rows.map(({ query }) => query);
}

const free = (account: string): Reader => ({ account, tier: "free" });
const askBy = (connections: ReadConnections, reader: Reader, text: string, end = new RequestEnd(null)) =>
  withReadScope(reader, end, () => connections.query({ text }, forEver)).then(
    () => text,
    (error: Error & { code?: string }) => error.code,
  );
const ask = (account: string, text: string, end?: RequestEnd) => askBy(reads, free(account), text, end);

test("a statement is cancelled when nobody waits for it, and one that waits is never begun", async () => {
  const [first, second] = [new RequestEnd(null), new RequestEnd(null)];
  const sleeping = ask("a", "SELECT pg_sleep(599)", first);
  await expect.poll(running, patient).toEqual(["SELECT pg_sleep(599)"]);
  const waiting = ask("a", "CREATE TABLE public.begun ()", second);
  expect([reads.running, reads.waiting]).toEqual([1, 1]);
  second.end(new Error("gone"));
  await waiting;
  expect([reads.running, reads.waiting]).toEqual([1, 0]);
  first.end(new Error("gone"));
  await sleeping;
  await expect.poll(running, patient).toEqual([]);
  // The connection is free again, and what ended before it was asked for is not begun either.
  expect(await ask("a", "SELECT 1")).toBe("SELECT 1");
  await ask("a", "CREATE TABLE public.begun ()", first);
  const { rows } = await database.pool.query("SELECT to_regclass('public.begun') AS begun");
  expect(rows).toEqual([{ begun: null }]);
});

test("a client that goes away takes its statement with it", async () => {
  const server = createServer((_request, response) => {
    withReadScope(free("a"), new RequestEnd(response), () =>
      reads.query({ text: "SELECT pg_sleep(598)" }, forEver),
    ).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const client = request({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" }).end();
  client.on("error", () => undefined);
  await expect.poll(running, patient).toEqual(["SELECT pg_sleep(598)"]);
  client.destroy();
  await expect.poll(running, patient).toEqual([]);
  await new Promise((done) => server.close(done));
});

test("a statement whose time is over is cancelled and says so", async () => {
  const outcome = reads.query({ text: "SELECT pg_sleep(597)" }, 50).catch((error: Error & { code: string }) => error);
  expect(await outcome).toMatchObject({ code: "read_timeout", status: 503, retryAfterSeconds: 1 });
  await expect.poll(running, patient).toEqual([]);
  expect(await ask("a", "SELECT 1")).toBe("SELECT 1");
});

test("a statement that its cancel request overtook is cancelled all the same", async () => {
  const { hostname, port } = new URL(database.url);
  // A busy server reads a statement late; a request to cancel is another connection's.
  const late = createRelay((client) => {
    const server = connect(Number(port), hostname);
    server.on("error", () => client.destroy()).pipe(client);
    client.on("data", (piece) => {
      if (piece.includes("pg_sleep")) setTimeout(() => server.write(piece), 500);
      else server.write(piece);
    });
    client.on("error", () => server.destroy()).on("end", () => server.end());
  });
  await new Promise<void>((done) => late.listen(0, "127.0.0.1", done));
  const url = new URL(database.url);
  url.host = `127.0.0.1:${(late.address() as AddressInfo).port}`;
  const options = { tenants: false, statementTimeout: forEver, reads: true } as const;
  const places = new ReadConnections(createPool(url.href, "heavy-test", 1, options), { most: 1, waiting: 4 });
  await places.query({ text: "SELECT 1" });
  const outcome = places.query({ text: "SELECT pg_sleep(591)" }, 50).catch((error: { code: string }) => error.code);
  expect(await outcome).toBe("read_timeout");
  // The next statement waits until the server has ended it.
  await places.query({ text: "SELECT 1" });
  expect(await running()).toEqual([]);
  await places.end();
  await new Promise((done) => late.close(done));
});

test("the queue is bounded, for one account by half, and accounts take turns", async () => {
  const end = new RequestEnd(null);
  const sleeping = ask("a", "SELECT pg_sleep(596)", end);
  await expect.poll(running, patient).toEqual(["SELECT pg_sleep(596)"]);
  const order: string[] = [];
  const queue = (account: string, text: string) => ask(account, text).then((outcome) => order.push(outcome ?? ""));
  const queued = [queue("a", "SELECT 'a1'"), queue("a", "SELECT 'a2'")];
  expect(await ask("a", "SELECT 'a3'")).toBe("service_unavailable");
  queued.push(queue("b", "SELECT 'b1'"), queue("c", "SELECT 'c1'"));
  expect(await ask("d", "SELECT 'd1'")).toBe("service_unavailable");
  end.end(new Error("gone"));
  await Promise.all([sleeping, ...queued]);
  expect(order).toEqual(["SELECT 'a1'", "SELECT 'b1'", "SELECT 'c1'", "SELECT 'a2'"]);
});

test("free accounts leave a place to the others, and wait behind them", async () => {
  const pool = createPool(database.url, "heavy-test", 2, { tenants: false, statementTimeout: forEver, reads: true });
  const places = new ReadConnections(pool, { most: 2, mostOfFree: 1, waiting: 8, waitMs: forEver });
  const [flood, long] = [new RequestEnd(null), new RequestEnd(null)];
  const paying = (account: string): Reader => ({ account, tier: "growth" });
  const flooding = ["a", "b", "c"].map((account) => askBy(places, free(account), "SELECT pg_sleep(595)", flood));
  await expect.poll(running, patient).toEqual(["SELECT pg_sleep(595)"]);
  expect(places.byPlan.get("free")).toEqual({ running: 1, waiting: 2 });
  // With nobody's place to wait for.
  expect(await askBy(places, paying("d"), "SELECT 'd1'")).toBe("SELECT 'd1'");
  const order: string[] = [];
  const queue = (reader: Reader, text: string) =>
    askBy(places, reader, text).then((outcome) => order.push(outcome ?? ""));
  const sleeping = askBy(places, paying("d"), "SELECT pg_sleep(594)", long);
  await expect.poll(running, patient).toHaveLength(2);
  const queued = [
    queue(free("e"), "SELECT 'e1'"),
    queue(paying("f"), "SELECT 'f1'"),
    queue(paying("d"), "SELECT 'd2'"),
  ];
  expect(places.byPlan.get("growth")).toEqual({ running: 1, waiting: 2 });
  // Those that have not begun go with their requests.
  flood.end(new Error("gone"));
  await Promise.all([...flooding, ...queued]);
  expect(order).toEqual(["SELECT 'f1'", "SELECT 'd2'", "SELECT 'e1'"]);
  long.end(new Error("gone"));
  await sleeping;
  await expect
    .poll(() => [...places.byPlan.values()], patient)
    .toEqual([
      { running: 0, waiting: 0 },
      { running: 0, waiting: 0 },
    ]);
  await places.end();
});

test("a limit of time begins with its statement, and waiting has one of its own", async () => {
  const end = new RequestEnd(null);
  const sleeping = ask("a", "SELECT pg_sleep(593)", end);
  await expect.poll(running, patient).toEqual(["SELECT pg_sleep(593)"]);
  const waiting = new RequestEnd(null);
  const later = withReadScope(free("b"), waiting, () => reads.query({ text: "SELECT 'late'" }, 30_000));
  // Much longer than the 1 ms that follows; nothing of it is the statement's time.
  await expect.poll(() => waiting.waitedMs, patient).toBeGreaterThan(50);
  const hasty = new ReadConnections(
    createPool(database.url, "heavy-test", 1, { tenants: false, statementTimeout: forEver, reads: true }),
    { most: 1, waiting: 4, waitMs: 20 },
  );
  const first = askBy(hasty, free("a"), "SELECT pg_sleep(592)", end);
  expect(await askBy(hasty, free("b"), "CREATE TABLE public.begun ()")).toBe("read_not_begun");
  expect(hasty.waiting).toBe(0);
  end.end(new Error("gone"));
  await Promise.all([sleeping, first, later, hasty.end()]);
  const before = waiting.waitedMs;
  expect(waiting.waitedMs).toBe(before);
  const { rows } = await database.pool.query("SELECT to_regclass('public.begun') AS begun");
  expect(rows).toEqual([{ begun: null }]);
});

test("an account that has had its time of the database begins nothing more, also of what waits", async () => {
  const pool = createPool(database.url, "heavy-test", 1, { tenants: false, statementTimeout: forEver, reads: true });
  const time = new DatabaseTime({ free: 40, growth: null, scale: null });
  const places = new ReadConnections(pool, { most: 1, waiting: 8, waitMs: forEver, time });
  const spending = askBy(places, free("a"), "SELECT pg_sleep(0.5)");
  const waiting = askBy(places, free("a"), "CREATE TABLE public.begun ()");
  const other = askBy(places, free("b"), "SELECT 'b1'");
  expect(await Promise.all([spending, waiting, other])).toEqual([
    ...["SELECT pg_sleep(0.5)", "rate_limit_exceeded", "SELECT 'b1'"],
  ]);
  const refused = await withReadScope(free("a"), new RequestEnd(null), () => places.query({ text: "SELECT 1" })).catch(
    (error: unknown) => error,
  );
  expect(refused).toMatchObject({ status: 429, details: { limit: 40, budget: "database_ms_per_minute" } });
  // 460 ms at 40 in a minute.
  expect((refused as { retryAfterSeconds: number }).retryAfterSeconds).toBeGreaterThan(600);
  // A plan without a limit, and the process itself, are not charged.
  expect(await askBy(places, { account: "a", tier: "growth" }, "SELECT 'paid'")).toBe("SELECT 'paid'");
  expect((await places.query({ text: "SELECT 1 AS one" })).rows).toEqual([{ one: 1 }]);
  await places.end();
});

test("a free account has so many minutes' worth of the database in a day, and a paid one has every minute's", () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    const time = new DatabaseTime({ free: 100, growth: 100, scale: 100 });
    const used = (tier: "free" | "growth") => {
      let ms = 0;
      for (let minute = 0; minute < 24 * 60; minute += 1) {
        vi.advanceTimersByTime(60_000);
        for (; time.refusal({ account: tier, tier }) === null; ms += 50) time.charge({ account: tier, tier }, 50);
      }
      return ms;
    };
    expect(used("free")).toBeLessThan(100 * freeMinutesOfDay + 200);
    expect(time.refusal({ account: "free", tier: "free" })).toMatchObject({
      details: { budget: "database_ms_per_day" },
    });
    expect(used("growth")).toBeGreaterThan(100 * 24 * 60 - 200);
  } finally {
    vi.useRealTimers();
  }
});

test("the server's process of heavy reads has the processor after those of others", async () => {
  const { pipelined, reads, heavy } = openReads(database.url, "lower-priority", {
    tenants: false,
    heavyReads: 1,
    lowerPriority: true,
  });
  const pidOf = async (one: ReadConnections) =>
    Number((await one.query({ text: "SELECT pg_backend_pid() AS pid" })).rows[0]?.["pid"]);
  const [quick, slow] = await Promise.all([pidOf(reads), pidOf(heavy)]);
  await expect.poll(() => getPriority(slow), patient).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
  expect(getPriority(quick)).toBeLessThan(getPriority(slow));
  await closeReads({ pipelined, reads, heavy });
});
