import type pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../src/chains.ts";
import { loadChains } from "../../src/config/chain-settings.ts";
import { readGenesis, sealFinalRange } from "../../src/indexing/final-block.ts";
import { checkInvariants } from "../../src/indexing/invariants.ts";
import { connect, ensureNftViews } from "../../src/indexing/nft-views.ts";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { ProgressWatch } from "../../src/indexing/supervise-ponder.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { type FaultyRpc, startFaultyRpc } from "./faulty-rpc.ts";
import { word } from "./hostile-cases.ts";
import { until } from "./indexed-chain.ts";
import { createLedger, insertRows } from "./ledger-fixture.ts";

const open: RpcGateway[] = [];
let database: TestDatabase;
let client: pg.Client;
let node: Anvil;
let faultyRpc: FaultyRpc;
let genesis: string;

beforeAll(async () => {
  [database, node] = await Promise.all([createTestDatabase(), startAnvil()]);
  await ensureNftViews(database.url);
  client = await connect(database.url, "test");
  faultyRpc = await startFaultyRpc(node.url);
  await node.mine();
  genesis = (await hashAt(0)) ?? "";
});
afterEach(async () => {
  faultyRpc.method = "";
  for (const gateway of open.splice(0)) await gateway.close();
  await client.query("DELETE FROM nft.index_version");
});
afterAll(async () => {
  await client?.end();
  await faultyRpc?.stop();
  await node?.stop();
  await database?.drop();
});

async function hashAt(number: number): Promise<string | undefined> {
  const block = await node.rpc<{ hash: string }>("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  return block?.hash;
}

async function gateway(...urls: string[]): Promise<RpcGateway> {
  const settings = {
    name: "base",
    id: 31337,
    verification: "logs",
    requestsPerSecond: 0,
    lagTimeoutMs: 0,
    local: false,
  } as const;
  const started = await startRpcGateway(settings, urls, createLogger("test", "silent"));
  open.push(started);
  return started;
}

function chain(env: Record<string, string> = {}): Chain {
  const [only] = loadChains({ RPC_URL_BASE: node.url, CHAIN_ID_BASE: "31337", ...env });
  if (!only) throw new Error("no chain");
  return only;
}

const record = (hash: string) =>
  client.query(
    "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live) VALUES ('c31337_x', 31337, $1, true)",
    [hash],
  );

test("an endpoint of another chain with the same id does not make the index of a chain be dropped", async () => {
  await record(genesis);
  const only = await gateway(faultyRpc.url);
  const both = await gateway(faultyRpc.url, node.url);
  Object.assign(faultyRpc, {
    method: "eth_getBlockByNumber",
    fault: (block: object) => ({ ...block, hash: word(5n) }),
  });
  await expect(readGenesis(client, only, chain())).rejects.toThrow(/serves another chain.*GENESIS_HASH_BASE/);
  expect(await readGenesis(client, both, chain())).toBe(genesis);
  await expect(readGenesis(client, only, chain({ GENESIS_HASH_BASE: genesis }))).rejects.toThrow(
    /GENESIS_HASH_BASE is/,
  );
  // A development chain that was reset, and a new chain that its operator pinned.
  expect(await readGenesis(client, only, chain({ LOCAL_BASE: "true" }))).toBe(word(5n));
  expect(await readGenesis(client, only, chain({ GENESIS_HASH_BASE: word(5n) }))).toBe(word(5n));
});

test("a chain that is indexed for the first time needs endpoints that agree on block 0", async () => {
  const both = await gateway(faultyRpc.url, node.url);
  expect(await readGenesis(client, both, chain())).toBe(genesis);
  Object.assign(faultyRpc, {
    method: "eth_getBlockByNumber",
    fault: (block: object) => ({ ...block, hash: word(5n) }),
  });
  await expect(readGenesis(client, both, chain())).rejects.toThrow(/several genesis blocks/);
});

test("an audit finds the endpoint that serves another history, and it is not asked until it agrees again", async () => {
  const both = await gateway(faultyRpc.url, node.url);
  both.expectGenesis(genesis);
  const final = { number: 1n, hash: (await hashAt(1)) ?? "" };
  expect((await both.audit(final)).map(({ state }) => state)).toEqual(["agrees", "agrees"]);
  const other = (block: object, [number]: unknown[]) => (number === "0x1" ? { ...block, hash: word(6n) } : block);
  Object.assign(faultyRpc, { method: "eth_getBlockByNumber", fault: other });
  expect((await both.audit(final)).map(({ state }) => state)).toEqual(["contradicts", "agrees"]);
  expect(both.contradictions()).toBe(1);
  const asked = faultyRpc.times.length;
  for (let count = 0; count < 5; count++) await both.request("eth_blockNumber", []);
  expect(faultyRpc.times).toHaveLength(asked);
  Object.assign(faultyRpc, { fault: (block: object) => ({ ...block, hash: word(7n) }) });
  expect((await both.audit(null))[0]?.reason).toMatch(/block 0/);
  faultyRpc.method = "";
  expect((await both.audit(final)).map(({ state }) => state)).toEqual(["agrees", "agrees"]);
  await both.request("eth_blockNumber", []);
  expect(faultyRpc.times.length).toBeGreaterThan(asked + 5);
});

const row = (block: number, to: number) =>
  ({ block, log: 0, batch: 0, contract: 1, tokenId: 1n, from: 0, to, amount: 1n, standard: "ERC721" }) as const;

test("a ledger row that changes after it was final is found, later ones are not in the way", async () => {
  await createLedger(database.pool, "c31337_x");
  await insertRows(database.pool, "c31337_x", [row(1, 1), row(2, 2), row(9, 3)]);
  await record(genesis);
  expect(await sealFinalRange(client, 31337, "c31337_x")).toBe(false);
  await client.query("UPDATE nft.index_version SET final_block = 5");
  await sealFinalRange(client, 31337, "c31337_x");
  await client.query("UPDATE nft.index_version SET final_block = 60000");
  expect(await sealFinalRange(client, 31337, "c31337_x")).toBe(true);
  expect(await sealFinalRange(client, 31337, "c31337_x")).toBe(false);
  const { rows } = await client.query(
    "SELECT from_block::int, to_block::int, row_count::int FROM service.final_range ORDER BY 1",
  );
  expect(rows).toEqual([
    { from_block: 0, to_block: 5, row_count: 2 },
    { from_block: 6, to_block: 50_005, row_count: 1 },
    { from_block: 50_006, to_block: 60_000, row_count: 0 },
  ]);
  const broken = async () => {
    const findings = await checkInvariants(client, 31337, "c31337_x");
    return findings.filter(({ id, title }) => id === "I6" && title.includes("ledger")).map(({ faults }) => faults);
  };
  await insertRows(database.pool, "c31337_x", [row(60_001, 4)]);
  expect(await broken()).toEqual([0]);
  await client.query(
    "UPDATE c31337_x.transfer SET to_address = decode(repeat('07', 20), 'hex') WHERE block_number = 2",
  );
  expect(await broken()).toEqual([1]);
});

test("a backfill that asks nothing and writes nothing for three minutes stands still; one that works does not", async () => {
  await database.pool.query(
    "CREATE SCHEMA c31337_y; CREATE TABLE c31337_y.t (x int); CREATE TABLE c31337_y._ponder_meta (x int)",
  );
  const quiet = await gateway(node.url);
  let now = Date.now();
  const watch = new ProgressWatch(client, quiet, "c31337_y", async () => 0);
  const after = async (seconds: number) => {
    now += seconds * 1_000;
    return (await watch.look("backfill", 5n, now)).isStalled;
  };
  expect(await after(1)).toBe(false);
  expect(await after(179)).toBe(false);
  expect(await after(2)).toBe(true);
  // Ponder's heartbeat goes on all the same.
  await database.pool.query("INSERT INTO c31337_y._ponder_meta VALUES (1)");
  expect(await after(1)).toBe(true);
  await database.pool.query("INSERT INTO c31337_y.t VALUES (1)");
  await until(async () => !(await after(1)), "the written row to show");
  expect(await after(182)).toBe(true);
  await fetch(quiet.url, { method: "POST", body: JSON.stringify({ id: 1, method: "eth_blockNumber", params: [] }) });
  expect(await after(1)).toBe(false);
});
