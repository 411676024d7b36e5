import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAnalystLogin, dropAnalystLogin } from "../../src/db/admin/analyst-logins.ts";
import { hasApiRole } from "../../src/db/pool/pool.ts";
import type { EmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { startPostgresOnFreePort } from "../setup/postgres-on-free-port.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const password = "of-this-test";

const dir = temporaryFolder();
let server: EmbeddedPostgres;
beforeAll(async () => {
  // A server of its own: roles belong to the whole of it.
  server = (await startPostgresOnFreePort(dir)).postgres;
});
afterAll(async () => {
  await server?.stop();
});

/** Runs deploy/roles.sql as psql does, for a login and a database of another name. @returns the login's URL. */
async function runRoles(name: string): Promise<string> {
  const own = new URL(server.url);
  Object.assign(own, { username: name, password, pathname: `/${name}` });
  const text = readFileSync(join(root, "deploy/roles.sql"), "utf8").replaceAll(/\bmintyard\b/g, name);
  const [ofServer = "", ofDatabase = ""] = text.replace("\\set ON_ERROR_STOP on", "").split(/^\\connect \S+$/m);
  const inDatabase = new URL(server.url);
  inDatabase.pathname = `/${name}`;
  await as(server.url, async (admin) => {
    const [before = "", query = ""] = ofServer.replace(":'password'", `'${password}'`).split(/(?=^SELECT .*\\gexec$)/m);
    await admin.query(before);
    const { rows } = await admin.query<Record<string, string>>({ text: query.replace("\\gexec", "") });
    for (const row of rows) for (const statement of Object.values(row)) await admin.query(statement);
  });
  await as(inDatabase.href, async (admin) => void (await admin.query(ofDatabase)));
  return own.href;
}

async function as(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

test("with deploy/roles.sql the service's login has no right but its database, and everything works, analysts too", async () => {
  const url = await runRoles("service_a");
  const log = createLogger("test", "silent");
  await prepareDatabase(url, log);
  // Again, as every later start and a second run of the file do.
  expect(await runRoles("service_a")).toBe(url);
  await prepareDatabase(url, log);
  await as(url, async (client) => {
    const { rows } = await client.query(
      `SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user`,
    );
    expect(rows).toEqual([
      { rolsuper: false, rolcreatedb: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false },
    ]);
  });
  expect(await hasApiRole(url)).toBe(true);
  const analyst = await createAnalystLogin(url, "ada");
  await as(analyst.url, async (client) => {
    expect((await client.query("SELECT count(*)::int AS count FROM analytics.chains")).rows).toHaveLength(1);
    await expect(client.query("SELECT FROM service.account")).rejects.toThrow("permission denied");
  });
  expect(await dropAnalystLogin(url, "ada")).toBe(true);
  // No other database of the server is its own.
  await as(url, async (client) => {
    await expect(client.query("CREATE DATABASE more")).rejects.toThrow("permission denied");
    await expect(client.query("CREATE ROLE more")).rejects.toThrow("permission denied");
  });
});

test("psql runs deploy/roles.sql twice, where it is installed", async (context) => {
  if (spawnSync("psql", ["--version"]).error) return context.skip("there is no psql on this machine");
  for (const _ of [1, 2]) {
    const { status, stderr } = spawnSync(
      "psql",
      [
        "-X",
        "-q",
        "-v",
        `password=${password}`,
        "-f",
        join(root, "deploy/roles.sql"),
        server.url.replace(/[^/]*$/, "postgres"),
      ],
      { encoding: "utf8" },
    );
    expect([status, stderr]).toEqual([0, expect.not.stringContaining("ERROR")]);
  }
});
