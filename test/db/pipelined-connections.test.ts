import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { openPipelinedConnections, type PipelinedConnections } from "../../src/db/pipeline/pipelined-connections.ts";
import { wireValue } from "../../src/db/pipeline/wire.ts";
import { connectionOptions } from "../../src/db/pool/pool.ts";
import { asUnavailable } from "../../src/errors/unavailable.ts";
import { shortReads } from "../../src/long-work.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { patient } from "../setup/wait.ts";

// Judged by what pg reads of the same statements.
let database: TestDatabase;
let connections: PipelinedConnections;
beforeAll(async () => {
  database = await createTestDatabase();
  connections = openPipelinedConnections(connectionOptions(database.url, "pipelined"), patient.timeout);
});
afterAll(async () => {
  connections?.close();
  await database?.drop();
});
// However a read ends, nothing gives way to it any more.
afterEach(() => expect(shortReads.underWay).toBe(0));

const failureOf = async (read: Promise<unknown>) =>
  await read.then(
    () => "none",
    (error: Error & { code?: string }) => error.code ?? error.message,
  );

test("values of every length come whole and in the order asked for, however the network cuts them", async () => {
  const text = "SELECT repeat('äb😀', $1::int) AS a, $2::bytea AS b, NULL AS c, '' AS d";
  const sizes = Array.from({ length: 120 }, (_, index) => index * 397);
  const rows = await Promise.all(
    sizes.map((size) => connections.first(text, [String(size), Buffer.from([size % 256, 0, 255])])),
  );
  for (const [index, size] of sizes.entries()) {
    const { rows: judged } = await database.pool.query(text, [size, Buffer.from([size % 256, 0, 255])]);
    const row = rows[index];
    expect(row?.json(0)?.toString() === judged[0].a, `of ${size}`).toBe(true);
    expect(row?.json(0)?.byteLength).toBe(size * 7);
    expect([row?.text(1), row?.text(2), row?.text(3)]).toEqual([`\\x${judged[0].b.toString("hex")}`, null, ""]);
  }
  expect(await connections.first("SELECT 1 WHERE false", [])).toBeNull();
});

test("texts of an array arrive as they are", async () => {
  const texts = ['a"b', "c\\d", "NULL", "", "{,}", "  ", "😀"];
  const row = await connections.first("SELECT to_json($1::text[])", [wireValue(texts)]);
  expect(JSON.parse(row?.text(0) ?? "")).toEqual(texts);
});

test("one read that fails fails alone, with the server's code, and the next ones are answered", async () => {
  const sum = async (text: string) => Number((await connections.first(text, []))?.text(0));
  for (let round = 0; round < 20; round += 1) {
    const read = [sum("SELECT 1"), failureOf(connections.first("SELECT 1/0", [])), sum("SELECT 2")];
    const more = [
      failureOf(connections.first("SELECT nothing", [])),
      failureOf(connections.first("SELEC", [])),
      sum("SELECT 3"),
    ];
    expect(await Promise.all([...read, ...more])).toEqual([1, "22012", 2, "42703", "42601", 3]);
  }
  expect(await failureOf(connections.first("SELECT $1::text", ["a\0b"]))).toBe("22021");
});

test("a view that was replaced by another one is read like it at the second try", async () => {
  await database.pool.query("CREATE VIEW public.changing AS SELECT 1 AS a");
  const read = async () => (await connections.first("SELECT * FROM public.changing", []))?.text(0);
  for (let turn = 0; turn < 20; turn += 1) expect(await read()).toBe("1");
  await database.pool.query("DROP VIEW public.changing; CREATE VIEW public.changing AS SELECT 'x'::text AS a");
  await read().catch(() => undefined);
  expect(await read()).toBe("x");
});

test("rows of tenants are not to be had, whatever asks for them", async () => {
  for (const relation of ["service.account", 'service."api_key"', "service.upload u"])
    expect(await failureOf(connections.first(`SELECT id FROM ${relation}`, []))).toMatch(
      /not read over a pipelined connection/,
    );
});

test("connections that break fail what was under way as an outage, and the next read opens another", async () => {
  const sleepers = openPipelinedConnections(connectionOptions(database.url, "sleepers"), patient.timeout);
  const waiting = Array.from({ length: 12 }, () => sleepers.first("SELECT pg_sleep(60)", []));
  const outcomes = Promise.allSettled(waiting);
  const asleep = "FROM pg_stat_activity WHERE application_name = 'mintyard-sleepers' AND query LIKE '%pg_sleep%'";
  // Two in each connection.
  await expect.poll(async () => (await database.pool.query(`SELECT ${asleep}`)).rowCount, patient).toBe(6);
  await database.pool.query(`SELECT pg_terminate_backend(pid) ${asleep}`);
  for (const outcome of await outcomes) {
    const reason = outcome.status === "rejected" ? outcome.reason : new Error("it was answered");
    expect(asUnavailable(reason)?.code, String(reason)).toBe("service_unavailable");
  }
  expect((await sleepers.first("SELECT 'again'", []))?.text(0)).toBe("again");
  sleepers.close();
  const away = openPipelinedConnections({ ...connectionOptions("postgres://x@127.0.0.1:9/x", "away") });
  const refused = await Promise.all(Array.from({ length: 200 }, () => failureOf(away.first("SELECT 1", []))));
  expect(new Set(refused)).toEqual(new Set(["ECONNREFUSED"]));
  away.close();
});

test("a slow read keeps three others waiting at most, and the rest go past it", async () => {
  const reads = openPipelinedConnections(connectionOptions(database.url, "slow"), patient.timeout);
  const holder = await database.pool.connect();
  await holder.query("SELECT pg_advisory_lock(4711)");
  const slow = reads.first("SELECT pg_advisory_lock_shared(4711)", []);
  let answered = 0;
  const quick = Array.from({ length: 120 }, async () => {
    await reads.first("SELECT 1", []);
    answered += 1;
  });
  await expect.poll(() => answered, patient).toBeGreaterThanOrEqual(117);
  await holder.query("SELECT pg_advisory_unlock(4711)");
  holder.release();
  await slow;
  await Promise.all(quick);
  reads.close();
});

test("reads that wait for a connection fail when it lasts too long, and when the reader closes", async () => {
  const reads = openPipelinedConnections(connectionOptions(database.url, "full"));
  const failures = (count: number) =>
    Array.from({ length: count }, async () => {
      const reason = await reads.first("SELECT 1", []).catch((error: Error) => error);
      return [asUnavailable(reason)?.code, (reason as Error).message];
    });
  const outcomes = Promise.allSettled(Array.from({ length: 24 }, () => reads.first("SELECT pg_sleep(60)", [])));
  for (const [code, message] of await Promise.all(failures(10)))
    expect([code, message]).toEqual(["service_unavailable", "timeout exceeded when trying to connect"]);
  const waiting = failures(10);
  reads.close();
  for (const [code, message] of await Promise.all(waiting))
    expect([code, message]).toEqual(["service_unavailable", "Connection terminated: the reader is closed"]);
  const asleep = "FROM pg_stat_activity WHERE application_name = 'mintyard-full' AND query LIKE '%pg_sleep%'";
  await database.pool.query(`SELECT pg_terminate_backend(pid) ${asleep}`);
  await outcomes;
});

test("a connection that has prepared very many statements is followed by a new one", async () => {
  for (let turn = 0; turn < 400; turn += 1)
    expect((await connections.first(`SELECT ${turn}`, []))?.text(0)).toBe(String(turn));
  const { rows } = await database.pool.query(
    "SELECT count(*)::int AS open FROM pg_stat_activity WHERE application_name = 'mintyard-pipelined'",
  );
  expect(rows[0].open).toBeLessThanOrEqual(8);
});

/** Asks for a token of its own many times at once: "own", "failed", or "other" when it is another question's. */
async function echo(reads: PipelinedConnections, number: number): Promise<Set<string>> {
  const asked = Array.from({ length: number }, async (_, at) => {
    const token = randomUUID();
    const row = await reads.first(`SELECT $1::text AS t${at % 3}`, [token]).catch(() => "failed" as const);
    return row === "failed" ? row : row?.text(0) === token ? "own" : "other";
  });
  return new Set(await Promise.all(asked));
}

/** Bytes that break while they are written into a message, as nothing that is sent should. */
function brokenBytes(): Buffer {
  return Object.assign(Buffer.from("abc"), {
    copy: () => {
      throw new Error("broken bytes");
    },
  });
}

const badValues = {
  "bytes that break half way": () => [brokenBytes()],
  "a value of no kind": () => [undefined as never],
  "more values than a message counts": () => Array.from({ length: 40_000 }, () => "x"),
};
test.each(Object.entries(badValues))("%s fail alone: every other read gets its own answer", async (_name, values) => {
  const reads = openPipelinedConnections(connectionOptions(database.url, "echo"), patient.timeout);
  for (let round = 0; round < 5; round += 1) {
    // In front of the first connection too, before it is open.
    const bad = Array.from({ length: 4 }, () => failureOf(reads.first("SELECT $1::bytea", values())));
    expect(await echo(reads, 30)).toEqual(new Set(["own"]));
    expect(await Promise.all(bad)).not.toContain("none");
  }
  reads.close();
});

test.each(["write", "cork", "uncork", "ref"] as const)(
  "a connection whose %s throws at any of its calls answers nobody with what belongs to another",
  async (method) => {
    const own = Object.getOwnPropertyDescriptor(Socket.prototype, method);
    const original = Socket.prototype[method] as (...args: unknown[]) => unknown;
    let countdown = 0;
    let thrown = 0;
    const breaking = function (this: Socket, ...args: unknown[]) {
      // Only connections to PostgreSQL that are asked by messages of this module.
      const ours = method === "write" ? Buffer.isBuffer(args[0]) && [0x42, 0x50].includes(args[0][0] ?? 0) : true;
      if (ours && countdown > 0 && --countdown === 0) {
        thrown += 1;
        throw new Error("injected");
      }
      return original.apply(this, args);
    };
    for (let at = 1; at <= 6; at += 1) {
      const reads = openPipelinedConnections(connectionOptions(database.url, "thrown"), patient.timeout);
      await expect.poll(() => echo(reads, 12), patient).toEqual(new Set(["own"]));
      Object.defineProperty(Socket.prototype, method, { configurable: true, writable: true, value: breaking });
      try {
        countdown = at;
        const seen = [await echo(reads, 12), await echo(reads, 12)];
        countdown = 0;
        expect(seen.some((outcomes) => outcomes.has("other"))).toBe(false);
        // It goes on over another connection.
        await expect.poll(() => echo(reads, 12), patient).toEqual(new Set(["own"]));
      } finally {
        countdown = 0;
        if (own) Object.defineProperty(Socket.prototype, method, own);
        else Reflect.deleteProperty(Socket.prototype, method);
        reads.close();
      }
    }
    expect(thrown).toBeGreaterThanOrEqual(1);
  },
);
