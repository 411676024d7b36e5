import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../src/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";

const key = randomUUID();
let database: TestDatabase;
const dir = temporaryFolder();
let api: ServiceProcess;
let base: string;
beforeAll(async () => {
  database = await createTestDatabase();
  const [port = 0] = await freePorts(1);
  base = `http://127.0.0.1:${port}`;
  api = await ServiceProcess.start("api", {
    ...{ DATABASE_URL: database.url, PORT: String(port), MINTYARD_API_KEY: key, MINTYARD_DATA_DIR: dir },
    ...{ LOG_LEVEL: "warn", RATE_LIMITS: "off", CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true" },
    RPC_URL_GOERLI: "http://127.0.0.1:9",
  });
});
afterAll(async () => {
  await api?.end("SIGKILL");
  await allow(true);
  await database?.drop();
});

/** Lets nobody into the database, and sends away who is there. */
async function allow(connections: boolean): Promise<void> {
  const url = new URL(database.url);
  const name = url.pathname.slice(1);
  url.pathname = "/postgres";
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS ${connections}`);
  if (!connections)
    await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
  await client.end();
}

test("a database that is away is a line for each cause, not for each request", async () => {
  await allow(false);
  const ask = async () =>
    (await fetch(`${base}/v0/me/contracts/collections`, { headers: { Authorization: randomUUID() } })).status;
  await expect.poll(ask, patient).toBe(503);
  const answers = [];
  for (let count = 0; count < 60; count += 1) answers.push(await ask());
  expect(answers.filter((status) => status !== 503)).toEqual([]);
  const lines = api.output.split("\n").filter((line) => line.includes("database unavailable"));
  expect(lines.length).toBeGreaterThan(0);
  // The session that was ended, and the new ones that are refused.
  expect(lines.length, lines.join("\n")).toBeLessThanOrEqual(5);
});
