import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { recordNodeFault } from "../../src/indexing/block-journal.ts";
import { connect } from "../../src/indexing/nft-views.ts";
import { startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { createMetrics, watchFaults } from "../../src/telemetry/metrics.ts";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A node of chain 31337 that answers all but the question for its chain with what it is set to. */
async function node() {
  const self = { url: "", status: 200, answer: { result: "0x10" } as object };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string };
    const answer = method === "eth_chainId" ? { result: "0x7a69" } : self.answer;
    response.writeHead(method === "eth_chainId" ? 200 : self.status).end(JSON.stringify({ id, ...answer }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  open.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v3/a-secret-path`;
  return self;
}

const key = "d1c7a0b2f3e94c5d8a6b7e0f1a2b3c4d";

test("the last fault of each endpoint reaches /status in its node's words, and nobody's key or address", async () => {
  const [first, second] = [await node(), await node()];
  const settings = { name: "goerli", id: 31337, verification: "off", requestsPerSecond: 0 } as const;
  const gateway = await startRpcGateway(
    { ...settings, lagTimeoutMs: 0, local: false },
    [first.url, second.url],
    createLogger("test", "silent"),
  );
  open.push(gateway.close);
  first.answer = { error: { code: -32600, message: `invalid api key ${key}, see https://rpc.example.com/${key}` } };
  first.status = 401;
  expect(await gateway.request("eth_blockNumber", [])).toBe("0x10");
  second.answer = { error: { code: -32005, message: "50/second request limit reached at 10.1.2.3:8545" } };
  await gateway.request("eth_blockNumber", []).catch(() => undefined);

  const api = await ApiServer.start();
  open.push(() => api.close());
  await api.database.pool.query(
    `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head)
     VALUES (31337, 'goerli', 'x', 10, 1, 12)`,
  );
  const client = await connect(api.database.url, "test");
  open.push(() => client.end());
  await recordNodeFault(client, 31337, "no node answers", gateway);
  const shown = async () => {
    const { chains } = (await api.send("GET", "/status", null)).body;
    return chains.find(({ chain }: { chain: string }) => chain === "goerli").endpoints;
  };
  const at = expect.stringMatching(/^\d{4}-.*Z$/);
  await expect.poll(shown, patient).toEqual([
    {
      state: "rests",
      blocksOfLogs: null,
      lastFault: { class: "key_refused", at, words: "invalid api key <key>, see <url>" },
    },
    {
      // Half a second later it is asked again.
      state: expect.stringMatching(/^(rests|used)$/),
      blocksOfLogs: null,
      lastFault: { class: "rate_limited", at, words: "50/second request limit reached at <host>" },
    },
  ]);
  expect(JSON.stringify(await shown())).not.toMatch(/secret|127\.0\.0\.1|d1c7a0b2/);

  const metrics = createMetrics("indexer");
  watchFaults(metrics, "goerli", () => gateway.health());
  const text = await metrics.registry.metrics();
  const counted = [...text.matchAll(/^mintyard_rpc_faults_total\{(.*)\} (\d+)$/gm)].map(([, labels, count]) => [
    labels,
    Number(count),
  ]);
  expect(counted).toHaveLength(2);
  expect(counted[0]?.[0]).toMatch(/chain="goerli",endpoint="0",class="key_refused"/);
  expect(counted[1]).toEqual([expect.stringMatching(/endpoint="1",class="rate_limited"/), 1]);
});
