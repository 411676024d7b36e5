import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { administratorScript } from "../../schema/analyst-admin.ts";
import { createAnalystLogin, dropAnalystLogin } from "../../src/db/admin/analyst-logins.ts";
import { ensureAnalystRole } from "../../src/db/admin/analyst-role.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// A server of its own: roles belong to a whole server, and other test files use theirs at the same time.
const dir = temporaryFolder();
let postgres: EmbeddedPostgres;
let owner: pg.Client;
/** What a hosted PostgreSQL gives: the owner of one database, who may not make roles. */
let serviceUrl: string;
beforeAll(async () => {
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

/** A logger that keeps its lines. */
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
  await expect(createAnalystLogin(serviceUrl, "ada")).rejects.toThrow(
    "service may not make roles; an administrator of the database runs this once, then the command works: " +
      "npm run -s mintyard -- analyst sql | psql -U postgres -d hosted",
  );
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
      "large objects, advisory locks, notifications, transaction ids, pauses and log messages by function: open to everybody",
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

test("after that script a service that may not make roles makes and drops analysts, and nothing else", async () => {
  const { url } = await createAnalystLogin(serviceUrl, "eve");
  expect(await query(url, "SELECT version FROM version")).toEqual([{ version: 1 }]);
  const again = await createAnalystLogin(serviceUrl, "eve");
  await expect(query(url, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  const { rows } = await owner.query(
    `SELECT r.rolconnlimit AS connections, array_to_string(s.setconfig, ' ') AS settings
     FROM pg_roles r JOIN pg_db_role_setting s ON s.setrole = r.oid WHERE rolname = 'mintyard_analyst_eve'`,
  );
  expect(rows).toEqual([
    { connections: 5, settings: expect.stringMatching(/statement_timeout=30s.*temp_file_limit=4GB/) },
  ]);
  const call = (name: string, verifier: string) =>
    query(serviceUrl, `SELECT mintyard_admin.create_analyst('${name}', '${verifier}')`);
  const verifier = "SCRAM-SHA-256$4096:AAAA$AAAA:AAAA";
  await expect(call("x; ALTER ROLE service SUPERUSER", verifier)).rejects.toMatchObject({ code: "22023" });
  await expect(call("mal", "a password in plain text")).rejects.toMatchObject({ code: "22023" });
  await expect(query(again.url, "SELECT mintyard_admin.drop_analyst('eve')")).rejects.toMatchObject({ code: "42501" });
  await expect(query(serviceUrl, "CREATE ROLE other")).rejects.toMatchObject({ code: "42501" });
  expect(await dropAnalystLogin(serviceUrl, "eve")).toBe(true);
  await expect(query(again.url, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  // The role of the HTTP process too: row-level security holds without a further statement.
  expect(await query(serviceUrl, "SELECT pg_has_role('mintyard_api', 'USAGE') AS may")).toEqual([{ may: true }]);
});

test("after that script the API reads what the service's login makes later, and no history of requests", async () => {
  await query(serviceUrl, "CREATE SCHEMA later; CREATE TABLE later.view_to_come (id int)");
  const rights = `SELECT has_schema_privilege('mintyard_api', 'later', 'USAGE') AS enters,
    has_table_privilege('mintyard_api', 'later.view_to_come', 'SELECT') AS reads,
    has_table_privilege('mintyard_api', 'service.intent_history', 'SELECT') AS history,
    has_table_privilege('mintyard_api', 'service.attempt', 'UPDATE') AS evidence`;
  expect(await query(serviceUrl, rights)).toEqual([{ enters: true, reads: true, history: false, evidence: false }]);
});

test("a login that may make roles, and is no superuser, makes an analyst without any script", async () => {
  await owner.query("CREATE ROLE maker LOGIN CREATEROLE PASSWORD 'p'");
  await owner.query("CREATE DATABASE made OWNER maker");
  await owner.query("GRANT mintyard_analyst TO maker WITH ADMIN OPTION");
  const makerUrl = serviceUrl.replace("service:p", "maker:p").replace("/hosted", "/made");
  await prepareDatabase(makerUrl, keepingLog().log);
  const { url } = await createAnalystLogin(makerUrl, "fay");
  expect(await query(url, "SELECT version FROM version")).toEqual([{ version: 1 }]);
  await owner.query("ALTER ROLE mintyard_analyst_fay CREATEDB");
  await expect(createAnalystLogin(makerUrl, "fay")).rejects.toThrow("has more rights than an analyst's");
  await owner.query("ALTER ROLE mintyard_analyst_fay NOCREATEDB");
  expect(await dropAnalystLogin(makerUrl, "fay")).toBe(true);
  await owner.query("REVOKE mintyard_analyst FROM maker");
});

test("the script makes the role where there is none", async () => {
  await query(urlOf("hosted"), "DROP OWNED BY mintyard_analyst");
  await query(urlOf("made"), "DROP OWNED BY mintyard_analyst");
  await query(urlOf("mintyard"), "DROP OWNED BY mintyard_analyst; DROP ROLE mintyard_analyst");
  await query(urlOf("mintyard"), administratorScript("postgres"));
  expect(await ensureAnalystRole(urlOf("mintyard"))).toEqual([]);
});

test("the command prints a connection string that works", async () => {
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
