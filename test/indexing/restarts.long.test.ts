import type { Address, Hex } from "viem";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import {
  accounts,
  type Chain,
  contracts,
  type Indexer,
  isRunning,
  startChain,
  startIndexer,
  until,
  untilIndexed,
} from "./indexed-chain.ts";

// Every start is a process that loads Ponder: seconds, and a minute on a machine with ten times the work it can do.
vi.setConfig({ testTimeout: 300_000 * slowness });

let database: TestDatabase;
let chain: Chain;
let indexer: Indexer;
const [alice, bob] = accounts.slice(1).map((account) => account.address) as [Address, Address];

beforeAll(async () => {
  [database, chain] = await Promise.all([createTestDatabase(), startChain()]);
  indexer = await startIndexer(database.url, chain.url);
});
afterAll(async () => {
  await indexer.end();
  await chain.stop();
  await database.drop();
});

async function query(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query<Record<string, unknown>>(sql, values);
  return rows;
}
const raw = (hex: Hex) => Buffer.from(hex.slice(2), "hex");

test("Ponder killed and started again loses and doubles nothing", async () => {
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  await chain.call(nft, "mint", [alice]);
  await untilIndexed(database.pool, chain);
  process.kill(await indexer.ponderPid(), "SIGKILL");
  const killed = performance.now();
  await chain.call(nft, "mint", [bob]);
  // One by one: the node's bulk mining makes blocks that do not name their parents.
  for (let count = 0; count < 40; count++) await chain.client.mine({ blocks: 1 });
  await chain.call(nft, "transferFrom", [alice, bob, 0n], accounts[1]);
  await untilIndexed(database.pool, chain);
  console.log(`caught up ${Math.round(performance.now() - killed)} ms after the kill`);
  const rows = await query("SELECT token_id, owner FROM nft.holdings WHERE contract = $1 ORDER BY token_id", [
    raw(nft.address),
  ]);
  expect(rows).toEqual([
    { token_id: "0", owner: raw(bob) },
    { token_id: "1", owner: raw(bob) },
  ]);
});

test("a killed indexer leaves no Ponder behind, and the next one goes on where it stopped", async () => {
  const ponder = await indexer.ponderPid();
  const [before] = await query("SELECT schema_name FROM nft.index_version WHERE live");
  await indexer.end("SIGKILL");
  await until(async () => !(await isRunning(ponder)), "Ponder to end");
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  await chain.call(nft, "mint", [alice]);
  indexer = await startIndexer(database.url, chain.url);
  console.log(`restart: ready after ${indexer.readyAfterMs} ms`);
  expect(await query("SELECT schema_name FROM nft.index_version")).toEqual([before]);
  expect(await query("SELECT 1 FROM nft.holdings WHERE contract = $1", [raw(nft.address)])).toHaveLength(1);
});

test("other settings are indexed into another schema, and the old one goes when it has caught up", async () => {
  const [before] = await query("SELECT schema_name FROM nft.index_version WHERE live");
  await indexer.end();
  indexer = await startIndexer(database.url, chain.url, { START_BLOCK_GOERLI: "1" });
  const after = await query("SELECT schema_name, live FROM nft.index_version");
  expect(after).toHaveLength(1);
  expect(after[0]).not.toMatchObject(before ?? {});
  expect(await query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'c31337%'")).toHaveLength(1);
  await untilIndexed(database.pool, chain);
});

test("a node of another chain id is refused with the variables to correct", async () => {
  const started = startIndexer(database.url, chain.url, { CHAIN_ID_GOERLI: "5" });
  await expect(started).rejects.toThrow(/serves chain id 31337, but goerli is configured as 5/);
});

test("a chain that was reset under the same id is indexed anew and nothing of the old one stays", async () => {
  await indexer.end();
  const { port } = chain;
  await chain.stop();
  chain = await startChain(port);
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  await chain.call(nft, "mint", [bob]);
  indexer = await startIndexer(database.url, chain.url);
  await untilIndexed(database.pool, chain);
  expect(await query("SELECT owner FROM nft.holdings")).toEqual([{ owner: raw(bob) }]);
  expect(await query("SELECT schema_name FROM nft.index_version")).toHaveLength(1);
});
