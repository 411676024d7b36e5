import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type ChainStatus, readStatus } from "../../src/accounts/read-status.ts";
import { loadConfig } from "../../src/config/config.ts";
import { freePorts } from "../../src/free-port.ts";
import { createServices } from "../../src/processes/create-services.ts";
import type { Services } from "../../src/services.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import { type Chain, type Indexer, startChain, startIndexer, until } from "./indexed-chain.ts";

vi.setConfig({ testTimeout: 300_000 * slowness });

let database: TestDatabase;
let chain: Chain;
let services: Services;
let port = 0;
let front: Server | null = null;
let indexer: Indexer | undefined;

beforeAll(async () => {
  [database, chain] = await Promise.all([createTestDatabase(), startChain()]);
  [port = 0] = await freePorts(1);
  const chainVariables = { RPC_URL_GOERLI: `http://127.0.0.1:${port}`, CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true" };
  services = createServices(loadConfig({ DATABASE_URL: database.url, LOG_LEVEL: "silent", ...chainVariables }), "test");
});
afterAll(async () => {
  await indexer?.end();
  await leave();
  await services?.content.close();
  await services?.pool.end();
  await services?.index.pool.end();
  await chain?.stop();
  await database?.drop();
});

/** The chain's endpoint comes up: a port that passes everything on. */
async function answer(): Promise<void> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const answered = await fetch(chain.url, { method: "POST", body: Buffer.concat(chunks), headers: json });
    response.writeHead(answered.status, json).end(await answered.text());
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  front = server;
}
const json = { "content-type": "application/json" };

async function leave(): Promise<void> {
  const closing = front;
  front = null;
  closing?.closeAllConnections();
  await new Promise<void>((done) => (closing ? closing.close(() => done()) : done()));
}

async function status(): Promise<ChainStatus> {
  const { chains } = await readStatus(services);
  const [goerli] = chains;
  if (!goerli) throw new Error("no chain");
  return goerli;
}

test("an indexer that starts while its endpoint is away waits for it, and says so once", async () => {
  const starting = startIndexer(database.url, `http://127.0.0.1:${port}`);
  let ended: unknown = null;
  starting.catch((error: unknown) => {
    ended = error;
  });
  // Five attempts were made within eight seconds, and then the process ended.
  await new Promise((done) => setTimeout(done, 20_000));
  expect(ended).toBeNull();
  await answer();
  indexer = await starting;
  const waiting = indexer.log().match(/"msg":"waiting for an RPC endpoint of goerli; check RPC_URL_GOERLI/g);
  expect(waiting).toHaveLength(1);
  await until(async () => (await status()).lagBlocks === 0, "a known lag");
  expect((await status()).troubles).toEqual([]);
});

test("an idle chain is not behind, however old its newest block is", async () => {
  const { client } = chain;
  await client.mine({ blocks: 1 });
  await until(async () => (await status()).indexedBlock === String(await client.getBlockNumber()), "the block");
  await new Promise((done) => setTimeout(done, 3_000));
  expect(await status()).toMatchObject({ lagBlocks: 0, lagSeconds: 0, troubles: [] });
});

test("with its node away the lag is unknown and the trouble is named; it goes when the node is back", async () => {
  const before = indexer?.log().length ?? 0;
  await leave();
  await until(async () => (await status()).troubles.includes("nodes_unreachable"), "the trouble", 60_000);
  const away = await status();
  expect(away.lagBlocks).toBeNull();
  expect(away.nodeSeenSecondsAgo).toBeGreaterThanOrEqual(10);
  await new Promise((done) => setTimeout(done, 20_000));
  expect((await status()).troubles).toContain("nodes_unreachable");
  const lines = indexer?.log().slice(before).trim().split("\n") ?? [];
  expect(lines.length, lines.slice(0, 60).join("\n")).toBeLessThan(40);
  await answer();
  await until(async () => (await status()).troubles.length === 0, "no trouble");
  expect((await status()).lagBlocks).toBe(0);
});
