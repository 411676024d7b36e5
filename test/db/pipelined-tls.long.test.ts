import { chmod } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPipelinedConnections } from "../../src/db/pipeline/pipelined-connections.ts";
import { connectionOptions } from "../../src/db/pool/pool.ts";
import type { EmbeddedPostgres } from "../../src/embedded/postgres.ts";
import { startPostgresOnFreePort } from "../setup/postgres-on-free-port.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { testCertificate, testKey } from "../setup/tls-identity.ts";
import { patient } from "../setup/wait.ts";

const dir = temporaryFolder();
let server: EmbeddedPostgres;
let client: pg.Client;
beforeAll(async () => {
  server = (await startPostgresOnFreePort(dir)).postgres;
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
  // Written by the server, whose own they have to be.
  const data = (await client.query("SHOW data_directory")).rows[0].data_directory;
  for (const [name, pem] of [["server.key", testKey] as const, ["server.crt", testCertificate] as const]) {
    const lines = pem.trim().split("\n");
    await client.query(`COPY (VALUES ${lines.map((line) => `('${line}')`).join()}) TO '${data}/${name}'`);
  }
  await chmod(join(data, "server.key"), 0o600);
  await client.query("ALTER SYSTEM SET ssl = on");
  await client.query("SELECT pg_reload_conf()");
});
afterAll(async () => {
  await client?.end();
  await server?.stop();
});

test("pipelined reads over TLS are what they are without it", async () => {
  await expect.poll(async () => (await client.query("SHOW ssl")).rows[0].ssl, patient).toBe("on");
  const options = connectionOptions(`${server.url}?sslmode=no-verify`, "over-tls");
  const reads = openPipelinedConnections(options, patient.timeout);
  const sizes = Array.from({ length: 80 }, (_, at) => at * 1_973);
  const rows = await Promise.all(sizes.map((size) => reads.first("SELECT repeat('äb😀', $1::int)", [String(size)])));
  for (const [at, size] of sizes.entries()) expect(rows[at]?.text(0) === "äb😀".repeat(size)).toBe(true);
  const { rows: sessions } = await client.query(
    "SELECT bool_and(s.ssl) AS all FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'mintyard-over-tls'",
  );
  expect(sessions[0].all).toBe(true);
  reads.close();
});
