import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { freePorts } from "../../src/free-port.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { OtlpCollector } from "../setup/otlp-collector.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";

let database: TestDatabase;
const dir = temporaryFolder();
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database?.drop();
});

test("twenty planted secrets and one more are in no log line, error, metric or trace of the HTTP process", async () => {
  const hex = () => randomBytes(32).toString("hex");
  const word = () => `planted${randomBytes(10).toString("hex")}`;
  const environment = {
    KEY_PEPPER: word(),
    MINTYARD_API_KEY: randomUUID(),
    PINATA_JWT: `eyJhbGciOiJIUzI1NiJ9.${word()}.${word()}`,
    RELAYER_KEY_POLYGON: `0x${hex()}`,
    RELAYER_KEY_ETHEREUM: hex(),
  };
  const [pathKey, queryKey, user, password] = [word(), word(), word(), word()];
  const [wrongKey, otherKey, header, variable, bearer] = [randomUUID(), randomUUID(), word(), word(), word()];
  const valid = randomUUID();
  const secretKey = `mty_live_${randomBytes(15).toString("hex")}`;
  await createAccount(database.db, environment.KEY_PEPPER, { name: "planted", tier: "enterprise", key: valid });
  const secrets = [
    ...Object.values(environment).map((text) => text.replace(/^0x/, "")),
    ...[pathKey, queryKey, user, password, wrongKey, otherKey, header, variable, bearer, valid, secretKey],
    ...[randomUUID(), randomUUID(), randomUUID(), hex()],
  ];
  expect(secrets).toHaveLength(20);
  const [uuidInUrl = "", uuidInBody = "", uuidInName = "", hexInBody = ""] = secrets.slice(16);

  const metricsToken = word();
  const collector = await OtlpCollector.start();
  const [port = 0] = await freePorts(1);
  const child = spawn(process.execPath, [join(import.meta.dirname, "../../src/processes/api.ts")], {
    env: {
      ...{ ...bareEnvironment, PORT: String(port), DATABASE_URL: database.url, MINTYARD_DATA_DIR: dir },
      ...environment,
      RPC_URL_POLYGON: `http://${user}:${password}@127.0.0.1:9/v2/${pathKey}`,
      RPC_URL_ETHEREUM: `http://127.0.0.1:9/?key=${queryKey}`,
      FACTORY_POLYGON: `0x${"12".repeat(20)}`,
      FACTORY_ETHEREUM: `0x${"12".repeat(20)}`,
      LOG_LEVEL: "trace",
      METRICS_TOKEN: metricsToken,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const base = `http://127.0.0.1:${port}`;
  const isLive = () =>
    fetch(`${base}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  await wait("an answer of the process", isLive, { lines: () => output.split("\n") });
  const answers: string[] = [];
  const send = async (path: string, key: string, body?: string, headers: Record<string, string> = {}) => {
    const response = await fetch(base + path, {
      ...(body === undefined ? {} : { method: "POST", body }),
      headers: { Authorization: key, "Content-Type": "application/json", ...headers },
    });
    answers.push(JSON.stringify([...response.headers]) + (await response.text()));
  };
  const collection = (chain: string, name: string) =>
    JSON.stringify({
      ...{ chain, name, symbol: "S", max_supply: 1, mint_price: 0, tokens_per_mint: 1 },
      owner_address: `0x${"34".repeat(20)}`,
      treasury_address: `0x${"56".repeat(20)}`,
      public_mint_start: "2026-01-01",
      private_key: hexInBody,
      password: uuidInBody,
    });
  await send("/v0/nfts?chain=polygon", wrongKey);
  await send("/v0/nfts?chain=polygon", `Bearer ${otherKey}`);
  await send("/v0/nfts?chain=polygon", bearer);
  await send("/v0/nfts?chain=polygon", secretKey);
  await send(`/v0/nowhere?api_key=${uuidInUrl}`, valid, undefined, { "X-Api-Key": header });
  await send("/v0/contracts/collections", valid, collection("polygon", uuidInName));
  await send("/v0/contracts/collections", environment.MINTYARD_API_KEY, collection("ethereum", "x"));
  await send(
    "/graphql",
    valid,
    JSON.stringify({ query: "query ($v: Int) { nothing(v: $v) }", variables: { v: variable } }),
  );
  // The database goes away under a request: the driver's own words go to the log.
  await database.pool.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mintyard-api'",
  );
  await database.pool.query("ALTER TABLE service.upload RENAME TO gone");
  // The first of them may only learn that its connection is gone, which is answered as such.
  await wait("the failure's line", async () => {
    await send("/graphql", valid, JSON.stringify({ query: `{ viewer { upload(id: "${randomUUID()}") { id } } }` }));
    return output.includes("unexpected failure");
  });
  for (const path of ["/status", "/readyz", "/docs"]) await send(path, valid);
  await send("/metrics", `Bearer ${metricsToken}`);
  expect(answers.at(-1)).toContain("mintyard_http_request_duration_seconds_bucket");
  // Spans leave every few seconds; an end does not wait long for a collector.
  const exported = (name: string) => collector.spans().some((span) => span.name === name);
  await wait("the span of an upload", () => exported("use case upload"));
  child.kill("SIGTERM");
  await once(child, "exit");
  expect(output).toContain("listening");
  expect(output).toContain("unexpected failure");
  // What the collector got: the requests' spans, their statements and their questions to nodes.
  await collector.stop();
  const names = collector.spans().map(({ name }) => name);
  for (const name of [
    "POST /graphql",
    "POST /v0/contracts/collections",
    "sql SELECT",
    "rpc",
    "use case",
    "use case upload",
  ])
    expect(names).toContain(name);
  // Each statement and question hangs below the request it was for.
  const byId = new Map(collector.spans().map((span) => [span.spanId, span]));
  for (const span of collector.spans().filter(({ name }) => /^(sql|rpc|use case)/.test(name))) {
    let root = span;
    for (let above = byId.get(span.parentSpanId ?? ""); above; above = byId.get(above.parentSpanId ?? "")) root = above;
    expect(root.name).toMatch(/^(GET|POST) /);
  }
  secrets.push(metricsToken);
  const shown = [output, ...answers, ...collector.received].join("\n").toLowerCase();
  expect(secrets.filter((secret) => shown.includes(secret.toLowerCase()))).toEqual([]);
});
