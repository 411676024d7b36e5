import { randomBytes, randomUUID } from "node:crypto";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Chain } from "../../src/chains.ts";
import { AnalystWatch } from "../../src/db/admin/watch-analysts.ts";
import { workerMetrics } from "../../src/processes/worker-metrics.ts";
import { createMetrics, watchRefusals } from "../../src/telemetry/metrics.ts";
import { serveMetrics } from "../../src/telemetry/serve-metrics.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { patient, slowness } from "../setup/wait.ts";
import { furnish } from "../tenants/tenant.ts";
import { askedBy, boardQueries, readAlerts } from "../watching/rules.ts";
import { onlyWhere } from "../watching/situations.ts";

let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start({
    ...{ DATABASE_MAX_BYTES: "900000000000", FACTORY_GOERLI: `0x${"fa".repeat(20)}` },
    RELAYER_KEY_GOERLI: randomBytes(32).toString("hex"),
  });
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Prometheus' text format, read by its grammar and not by the library that wrote it. */
function parse(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    if (line === "" || line.startsWith("#")) return [];
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!found) throw new Error(`not a sample: ${line}`);
    const labels = [...(found[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]);
    return [{ name: found[1] ?? "", labels: Object.fromEntries(labels), value: Number(found[3]) }];
  });
}

const samples = async (): Promise<Sample[]> => parse((await api.send("GET", "/metrics", null)).body);

describe("/metrics", () => {
  test("counts by route template and status, never by what a client put into a path", async () => {
    // Of ours: the runtime's own series come when its collector first does each kind of work.
    const size = async () => (await samples()).filter(({ name }) => name.startsWith("mintyard_")).length;
    const before = await size();
    for (let index = 0; index < 40; index += 1) {
      await api.send("GET", `/v0/nfts/0x${randomBytes(20).toString("hex")}/${index}?chain=goerli`, key);
      await api.send("GET", `/${randomUUID()}/${randomUUID()}`, key);
      await api.send("GET", `/ipfs/${randomUUID()}/a/b/${index}`, null);
    }
    await fetch(api.url, { method: "PROPFIND" });
    const counted = (await samples()).filter(({ name }) => name === "mintyard_http_request_duration_seconds_count");
    const routes = new Map(counted.map(({ labels, value }) => [`${labels["route"]} ${labels["status"]}`, value]));
    expect(routes.get("/v0/nfts/{contract_address}/{token_id} 404")).toBe(40);
    expect(routes.get("other 404")).toBe(40);
    expect(routes.get("/ipfs/{cid} 400")).toBe(40);
    expect(counted.filter(({ labels }) => labels["method"] === "other")).toHaveLength(1);
    // 121 requests with 121 paths: four more series of fourteen samples.
    expect((await size()) - before).toBeLessThanOrEqual(4 * 14 + 14);
  });

  test("answers who has the token, or comes from this machine by no proxy", async () => {
    const behindProxy = await fetch(`${api.url}/metrics`, { headers: { "X-Forwarded-For": "203.0.113.9" } });
    expect(behindProxy.status).toBe(404);
    const guarded = await ApiServer.start({ METRICS_TOKEN: "a-token-of-sixteen" });
    try {
      const status = async (headers: Record<string, string>) =>
        (await fetch(`${guarded.url}/metrics`, { headers })).status;
      expect(await status({})).toBe(404);
      expect(await status({ Authorization: "Bearer another" })).toBe(404);
      expect(await status({ Authorization: "Bearer a-token-of-sixteen", "X-Forwarded-For": "203.0.113.9" })).toBe(200);
    } finally {
      await guarded.close();
    }
  });

  test("every query of the Grafana board and of the alerts asks for series and labels that are exported", async () => {
    await furnish(api, "dashboard");
    await api.nfts.add([{ contract: addressOf(0xaa), tokenId: 1n, from: nobody, to: addressOf(1) }]);
    await api.database.pool.query(
      `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head)
       VALUES (31337, 'goerli', 'x', 10, 1, 12) ON CONFLICT DO NOTHING`,
    );
    await api.database.pool.query("UPDATE service.chain_freshness SET waits_for = 'processor'");
    await api.database.pool.query("UPDATE service.upload SET pin_state = 'failed', pin_error = 'x'");
    (globalThis as { gc?: () => void }).gc?.();
    // The other two processes have servers of their own for it.
    const indexer = createMetrics("indexer");
    watchRefusals(indexer, "goerli", () => new Map([["wrong block", 2]]));
    const server = await serveMetrics(indexer, { host: "127.0.0.1", port: 0, token: null });
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const others = parse(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    server.close();
    const analysts = new AnalystWatch(api.database.url, 300, api.services.log);
    const { figures } = api.services.relay;
    figures.recordEndpoint({ chain: "goerli", endpoint: "0", host: "a:1", head: 1n, seconds: 1 });
    await analysts.look();
    const goerli = api.services.chains.find(({ name }) => name === "goerli") as Chain;
    figures.recordBalance(goerli, addressOf(1) as Address, 1n);
    const worker = parse(await workerMetrics(api.services, analysts).registry.metrics());
    await new Promise((done) => setTimeout(done, 10_100));
    // Seen just now: of a node that was not heard of for ten seconds nobody knows a lag.
    await api.database.pool.query("UPDATE service.chain_freshness SET node_seen_at = clock_timestamp()");
    const exported = Map.groupBy([...(await samples()), ...worker, ...others], ({ name }) => name);
    const queries = [...boardQueries(), ...readAlerts().map(({ expr }) => expr)];
    expect(queries.length).toBeGreaterThan(60);
    for (const query of queries) {
      const { names, labels } = askedBy(query);
      // Prometheus' own.
      if (/\bup\{|\bALERTS\b/.test(query)) continue;
      expect(names, query).not.toEqual([]);
      const missing = names.filter((name) => !exported.has(name) && !Object.hasOwn(onlyWhere, name));
      expect(missing, query).toEqual([]);
      const known = new Set(
        names.flatMap((name) => (exported.get(name) ?? []).flatMap((one) => Object.keys(one.labels))),
      );
      // What Prometheus adds, and what a metric has that this process does not export.
      for (const label of names.some((name) => Object.hasOwn(onlyWhere, name)) ? [] : labels)
        if (label !== "instance") expect([...known], `${label} of ${query}`).toContain(label);
    }
  });
});

test("/console/history has a day of samples in few points, none of whose peaks is lost, and is asked for once in ten seconds", async () => {
  const { pool } = api.database;
  await furnish(api, "plots");
  const wallet = Buffer.alloc(20, 7);
  // As a worker of a local chain writes them, every half minute; one of them has a peak.
  await pool.query(
    `INSERT INTO service.chain_sample (chain_id, at, lag_seconds, lag_blocks, waiting, oldest_seconds)
     SELECT 31337, at, CASE n WHEN 1000 THEN 77 ELSE 1 END, 0, CASE n WHEN 0 THEN 5 ELSE 9 END, NULL
     FROM generate_series(0, 2870) AS n, date_bin('30 seconds', now() - n * interval '30 seconds', 'epoch') AS at`,
  );
  await pool.query(
    `INSERT INTO service.wallet_sample (chain_id, addr, at, wei)
     SELECT chain_id, $1, at, 10::numeric ^ 30 + lag_seconds FROM service.chain_sample`,
    [wallet],
  );
  const asked = await fetch(`${api.url}/console/history`);
  expect([asked.status, asked.headers.get("content-type")]).toEqual([200, "application/json"]);
  const text = await asked.text();
  const { now, chains } = JSON.parse(text);
  const goerli = chains.find(({ chain }: { chain: string }) => chain === "goerli");
  const ethereum = chains.find(({ chain }: { chain: string }) => chain === "ethereum");
  expect(ethereum).toMatchObject({ points: [], wallets: [], everySeconds: 30 });
  expect(goerli.everySeconds).toBeGreaterThanOrEqual(299);
  expect(goerli.points.length).toBeLessThanOrEqual(290);
  expect(goerli.points.length).toBeGreaterThan(280);
  const times = goerli.points.map(({ at }: { at: number }) => at);
  expect(times).toEqual(times.toSorted((a: number, b: number) => a - b));
  expect(Math.max(...goerli.points.map(({ lagSeconds }: { lagSeconds: number }) => lagSeconds))).toBe(77);
  expect(goerli.points.at(-1)).toMatchObject({ lagSeconds: 1, lagBlocks: 0, waiting: 5, oldestSeconds: null });
  expect(now - goerli.points.at(-1).at).toBeLessThan(60 * slowness);
  expect(goerli.wallets).toMatchObject([{ wallet: `0x${wallet.toString("hex")}` }]);
  const balances = goerli.wallets[0].points.map(({ wei }: { wei: string }) => wei);
  expect(new Set(balances)).toEqual(new Set([`1${"0".repeat(29)}1`, `1${"0".repeat(28)}77`]));
  // Of everybody's transactions, though this process sees one account's rows at a time.
  const { rows } = await pool.query(
    "SELECT coalesce(sum(mined_cost_wei), 0)::text AS wei FROM service.nonce_reservation WHERE chain_id = 31337 AND NOT found",
  );
  const spent = goerli.spending.reduce((sum: bigint, { wei }: { wei: string }) => sum + BigInt(wei), 0n);
  expect(String(spent)).toBe(rows[0].wei);
  await pool.query("DELETE FROM service.chain_sample");
  expect(await (await fetch(`${api.url}/console/history`)).text()).toBe(text);
  await expect
    .poll(async () => (await (await fetch(`${api.url}/console/history`)).json()).chains, patient)
    .toMatchObject(chains.map(({ chain }: { chain: string }) => ({ chain, points: [] })));
});

describe("/readyz and /status", () => {
  test("a wallet that is halted or an index that lags degrades, and takes no process out; ?strict says so by its status", async () => {
    const { pool } = api.database;
    await furnish(api, "troubles");
    await pool.query("DELETE FROM service.chain_freshness");
    await pool.query(
      `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head, checked_at)
       VALUES (31337, 'goerli', 'x', 10, 1, 100, now() - interval '10 minutes')`,
    );
    await pool.query("UPDATE service.relayer_wallet SET state = 'halted' WHERE chain_id = 31337");
    await pool.query("UPDATE service.intent SET created_at = now() - interval '1 hour'").catch(() => undefined);
    // What is said of the service is kept for a second.
    await expect
      .poll(async () => (await api.send("GET", "/readyz", null)).body.reasons, patient)
      .toEqual(expect.arrayContaining(["goerli: index_stalled", "goerli: index_behind", "goerli: wallet_halted"]));
    const { body, status } = await api.send("GET", "/readyz", null);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ready: true, degraded: true, draining: false });
    expect((await api.send("GET", "/readyz?strict", null)).status).toBe(503);
    // One that looks and is answered, and takes in nothing.
    const shown = async () => {
      const { chains } = (await api.send("GET", "/status", null)).body;
      return chains.find(({ chain }: { chain: string }) => chain === "goerli");
    };
    await pool.query(`UPDATE service.chain_freshness SET checked_at = now(), node_seen_at = now() + interval '1 hour', indexed_block = 98,
      progressed_at = now() - interval '3 minutes', waits_for = 'processor'`);
    await expect
      .poll(shown, patient)
      .toMatchObject({ lagBlocks: 2, waitsFor: "processor", troubles: expect.arrayContaining(["index_stalled"]) });
    await pool.query("UPDATE service.chain_freshness SET node_seen_at = now() + interval '1 hour', indexed_block = 10");
    await expect.poll(async () => (await shown()).lagBlocks, patient).toBe(90);
    await pool.query(
      `INSERT INTO service.log_sample VALUES ('x', 31337, 40, '{"7": 2, "9": 1}'), ('old', 31337, 9, '{"1": 1}')`,
    );
    await expect
      .poll(async () => (await shown()).sampled, patient)
      .toEqual({
        ...{ blocks: 40, missingLogs: 3, firstBlock: "7", lastBlock: "9" },
      });
    expect((await shown()).troubles).toContain("index_incomplete");
    // The process sees one tenant's rows at a time, and everybody's sums here.
    const { chains } = (await api.send("GET", "/status", null)).body;
    const goerli = chains.find(({ chain }: { chain: string }) => chain === "goerli");
    expect(goerli).toMatchObject({ lagBlocks: 90, quorum: 1, queue: { confirmed: expect.any(Number) } });
    expect(goerli.walletStates[0]).toMatchObject({ state: "halted", open: 0 });
  });
});
