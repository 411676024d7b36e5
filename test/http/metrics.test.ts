import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createMetrics, watchRefusals } from "../../src/telemetry/metrics.ts";
import { serveMetrics } from "../../src/telemetry/serve-metrics.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { furnish } from "../tenants/tenant.ts";

let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start();
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
    expect(routes.get("/ipfs/{cid} 404") ?? routes.get("/ipfs/{cid} 422")).toBe(40);
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

  test("every query of the Grafana board asks for series and labels that are exported", async () => {
    await furnish(api, "dashboard");
    await api.nfts.add([{ contract: addressOf(0xaa), tokenId: 1n, from: nobody, to: addressOf(1) }]);
    await api.database.pool.query(
      `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head)
       VALUES (31337, 'goerli', 'x', 10, 1, 12) ON CONFLICT DO NOTHING`,
    );
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
    await new Promise((done) => setTimeout(done, 5_100));
    const exported = Map.groupBy([...(await samples()), ...others], ({ name }) => name);
    const board = JSON.parse(readFileSync(join(import.meta.dirname, "../../deploy/grafana/mintyard.json"), "utf8"));
    const queries: string[] = board.panels.flatMap((panel: { targets: { expr: string }[] }) =>
      panel.targets.map(({ expr }) => expr),
    );
    expect(queries.length).toBeGreaterThan(20);
    for (const query of queries) {
      const names = query.match(/\b(?:mintyard|process|nodejs)_\w+/g) ?? [];
      expect(names, query).not.toEqual([]);
      for (const name of names) {
        // Nothing may have been collected as garbage yet.
        if (name.startsWith("nodejs_gc_")) continue;
        const series = exported.get(name);
        expect(series, `${name} of ${query}`).toBeDefined();
        const known = new Set(series?.flatMap(({ labels }) => Object.keys(labels)));
        const grouped = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => (list ?? "").split(/,\s*/));
        const matched = [...query.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label]) => label ?? "");
        for (const label of [...grouped, ...matched]) expect([...known], `${label} of ${query}`).toContain(label);
      }
    }
  });
});

describe("/readyz and /status", () => {
  test("a lane that is halted or an index that lags degrades, and takes no process out; ?strict says so by its status", async () => {
    const { pool } = api.database;
    await furnish(api, "troubles");
    await pool.query("DELETE FROM service.chain_freshness");
    await pool.query(
      `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head, checked_at)
       VALUES (31337, 'goerli', 'x', 10, 1, 100, now() - interval '10 minutes')`,
    );
    await pool.query("UPDATE service.lane SET state = 'halted' WHERE chain_id = 31337");
    await pool.query("UPDATE service.intent SET created_at = now() - interval '1 hour'").catch(() => undefined);
    const { body, status } = await api.send("GET", "/readyz", null);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ready: true, degraded: true, draining: false });
    expect(body.reasons).toEqual(
      expect.arrayContaining(["goerli: index_stalled", "goerli: index_behind", "goerli: lane_halted"]),
    );
    expect((await api.send("GET", "/readyz?strict", null)).status).toBe(503);
    // The process sees one tenant's rows at a time, and everybody's sums here.
    const { chains } = (await api.send("GET", "/status", null)).body;
    const goerli = chains.find(({ chain }: { chain: string }) => chain === "goerli");
    expect(goerli).toMatchObject({ lagBlocks: 90, quorum: 1, queue: { confirmed: expect.any(Number) } });
    expect(goerli.lanes[0]).toMatchObject({ state: "halted", open: 0 });
  });
});
