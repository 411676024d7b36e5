import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createApp } from "../../src/server/app.ts";
import type { Services } from "../../src/services.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { send } from "../setup/send.ts";

let database: TestDatabase;
let services: Services;
let server: Server;
let base: string;
const key = randomUUID();

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { DATABASE_URL: database.url, LOG_LEVEL: "silent", MINTYARD_API_KEY: key };
  services = createServices(loadConfig(env), "test");
  await createAccount(services.db, services.config.keyPepper, { name: "attacks", tier: "growth", key });
  server = createServer(getRequestListener(createApp(services).fetch));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await services?.content.close();
  await services?.pool.end();
  await database?.drop();
});

const graphql = (query: string) =>
  send(`${base}/graphql`, { key, headers: { Accept: "application/json" }, body: { query } });

test("the page for browsers holds no key, and a foreign page gets no credentials", async () => {
  const page = await fetch(`${base}/graphql`, { headers: { Accept: "text/html", Origin: "https://evil.test" } });
  const text = await page.text();
  expect([page.status, text.includes("<html")]).toEqual([200, true]);
  expect(text).not.toContain(key);
  expect(page.headers.get("access-control-allow-credentials")).toBeNull();
});

test("thirty aliases are answered, one more is refused before any field runs", async () => {
  const aliases = (count: number) => `{${Array.from({ length: count }, (_, i) => `a${i}: __typename`).join(" ")}}`;
  expect(JSON.parse((await graphql(aliases(30))).text).data.a29).toBe("Query");
  const refused = JSON.parse((await graphql(aliases(31))).text);
  expect(refused.data).toBeUndefined();
  expect(refused.errors[0].message).toContain("30 aliases");
});

test("a document of very many tokens or levels is refused, and the next one is answered", async () => {
  for (const query of ["{".repeat(50_000), `{${" __typename".repeat(5_000)}}`, "[".repeat(50_000)]) {
    const refused = JSON.parse((await graphql(query)).text);
    expect(refused.errors).toHaveLength(1);
    expect(refused.data).toBeUndefined();
  }
  expect(JSON.parse((await graphql("{__typename}")).text).data).toEqual({ __typename: "Query" });
});

test("a NUL in a path is not found, not a fault of the server", async () => {
  for (const path of [
    "/ipfs/bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq/%00",
    "/ipfs/%00",
    "/v0/%00",
  ]) {
    const answer = await fetch(base + path, { headers: { Authorization: key } });
    expect([path, answer.status < 500 && answer.status >= 400]).toEqual([path, true]);
    await answer.body?.cancel();
  }
});

test("connections that the database cuts cost one answer each at most, never the process", async () => {
  const ask = () => fetch(`${base}/v0/nfts?chain=goerli&page_size=1`, { headers: { Authorization: key } });
  await Promise.all(Array.from({ length: 8 }, ask));
  // With the wait for their end: one that still works may serve the first round and fail the second.
  const { rows } = await database.pool.query<{ cut: boolean }>(
    `SELECT pg_terminate_backend(pid, 30000) AS cut FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> ''`,
  );
  expect(rows.length).toBeGreaterThan(0);
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await ask()).status));
  expect(statuses.every((status) => status < 500 || status === 503)).toBe(true);
  const after = await Promise.all(Array.from({ length: 8 }, async () => (await ask()).status));
  expect(after.some((status) => status >= 500)).toBe(false);
});
