import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { administratorScript } from "../../schema/analyst-role.ts";
import { createAnalystLogin, dropAnalystLogin } from "../../src/db/analyst-logins.ts";
import { ensureAnalystRole } from "../../src/db/analyst-role.ts";
import { prepareDatabase } from "../../src/db/prepare.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";

// A server of its own: roles belong to a whole server, and other test files use theirs at the same time.
let dir: string;
let postgres: EmbeddedPostgres;
let owner: pg.Client;
/** What a hosted PostgreSQL gives: the owner of one database, who may not make roles. */
let serviceUrl: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "mintyard-test-"));
  const [port = 0] = await freePorts(1);
  postgres = await startPostgres(dir, port);
  owner = new pg.Client({ connectionString: postgres.url });
  await owner.connect();
  await owner.query("CREATE ROLE service LOGIN PASSWORD 'p'");
  await owner.query("CREATE DATABASE hosted OWNER service");
  await owner.query("CREATE DATABASE second");
  serviceUrl = `postgres://service:p@127.0.0.1:${port}/hosted`;
});
afterAll(async () => {
  await owner?.end();
  await postgres?.stop();
  await rm(dir, { recursive: true, force: true });
});

const urlOf = (database: string) => postgres.url.replace(/\/[^/]*$/, `/${database}`);

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A logger that keeps what it was told. */
function keepingLog(): { lines: { level: number; open?: string[]; msg: string }[]; log: pino.Logger } {
  const lines: { level: number; open?: string[]; msg: string }[] = [];
  return { lines, log: pino({}, { write: (line: string) => lines.push(JSON.parse(line)) }) };
}

test("a service that may not make roles starts without the role, and says so", async () => {
  const { lines, log } = keepingLog();
  await prepareDatabase(serviceUrl, log);
  expect(lines).toMatchObject([
    { level: 40, open: ["role mintyard_analyst does not exist"], msg: expect.stringContaining("mintyard analyst sql") },
  ]);
  await expect(createAnalystLogin(serviceUrl, "ada")).rejects.toThrow("role mintyard_analyst is missing");
  expect(await query(serviceUrl, "SELECT version FROM analytics.version")).toEqual([{ version: 1 }]);
});

test("several processes and databases of one server make the role at once, and it is closed off in each", async () => {
  const urls = ["mintyard", "second", "mintyard", "second"].map(urlOf);
  expect(await Promise.all(urls.map((url) => ensureAnalystRole(url)))).toEqual([[], [], [], []]);
  expect(await ensureAnalystRole(urlOf("second"))).toEqual([]);
});

test("a service that may not change the server's defaults does what it can, and says what stays open", async () => {
  const { lines, log } = keepingLog();
  await prepareDatabase(serviceUrl, log);
  expect(lines.map(({ open }) => open)).toEqual([
    [
      "large objects, advisory locks, notifications and log messages by function: open to everybody",
      "DO blocks in PL/pgSQL: open to everybody",
    ],
  ]);
  const rights = `SELECT has_database_privilege('mintyard_analyst', current_database(), 'TEMP') AS temp,
    has_table_privilege('mintyard_analyst', 'analytics.tokens', 'SELECT') AS reads`;
  expect(await query(serviceUrl, rights)).toEqual([{ temp: false, reads: true }]);
});

test("after an administrator ran the printed script nothing is open, and the service keeps what it needs", async () => {
  await query(urlOf("hosted"), administratorScript("service"));
  const { lines, log } = keepingLog();
  await prepareDatabase(serviceUrl, log);
  expect(lines).toEqual([]);
  await query(serviceUrl, "CREATE TEMP TABLE t (a int); DO $$ BEGIN END $$; SELECT pg_try_advisory_lock(1)");
  const body = "RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'";
  await query(serviceUrl, `CREATE SCHEMA s; CREATE FUNCTION s.f() ${body}`);
});

test("the script makes the role where there is none", async () => {
  await query(urlOf("hosted"), "DROP OWNED BY mintyard_analyst");
  await query(urlOf("mintyard"), "DROP OWNED BY mintyard_analyst; DROP ROLE mintyard_analyst");
  await query(urlOf("mintyard"), administratorScript("postgres"));
  expect(await ensureAnalystRole(urlOf("mintyard"))).toEqual([]);
});

test("the command prints a connection string that works", { timeout: 120_000 }, async () => {
  const env = { ...process.env, DATABASE_URL: postgres.url, MINTYARD_DATA_DIR: dir };
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, ["bin/mintyard.ts", "analyst", ...args], { env });
  const { url, role } = JSON.parse((await run("create", "--name", "cleo")).stdout);
  expect(role).toBe("mintyard_analyst_cleo");
  expect(await query(url, "SELECT version FROM version")).toEqual([{ version: 1 }]);
  expect((await run("check")).stdout).toBe("closed\n");
  await run("drop", "--name", "cleo");
  await expect(query(url, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
});

test("a power that somebody gave the role by hand is reported", async () => {
  await owner.query("GRANT pg_write_server_files TO mintyard_analyst; ALTER ROLE mintyard_analyst CREATEDB");
  expect(await ensureAnalystRole(postgres.url)).toEqual([
    "role mintyard_analyst has an attribute that passes every wall",
    "role mintyard_analyst is a member of pg_write_server_files",
  ]);
  await owner.query("REVOKE pg_write_server_files FROM mintyard_analyst; ALTER ROLE mintyard_analyst NOCREATEDB");
});

test("a login that is made again has a new password, and one that is dropped is out at once", async () => {
  const first = await createAnalystLogin(postgres.url, "ada");
  const second = await createAnalystLogin(postgres.url, "ada");
  await expect(query(first.url, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  const session = new pg.Client({ connectionString: second.url });
  const ended = new Promise<void>((done) => session.on("error", () => done()));
  await session.connect();
  expect(await dropAnalystLogin(postgres.url, "ada")).toBe(true);
  await ended;
  expect(await dropAnalystLogin(postgres.url, "ada")).toBe(false);
  await expect(query(second.url, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  await expect(createAnalystLogin(postgres.url, 'x"; DROP ROLE y; --')).rejects.toThrow("--name");
});
