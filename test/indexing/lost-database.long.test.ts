import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ponderFolder } from "../../src/indexing/ponder-process.ts";
import { CommitCutter } from "../chaos/commit-cutter.ts";
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

vi.setConfig({ testTimeout: 300_000 * slowness });

const run = promisify(execFile);

let database: TestDatabase;
let cutter: CommitCutter;
let chain: Chain;
let indexer: Indexer;

beforeAll(async () => {
  [database, chain] = await Promise.all([createTestDatabase(), startChain()]);
  const { port } = new URL(database.url);
  cutter = await CommitCutter.start(Number(port));
  indexer = await startIndexer(database.url.replace(`:${port}/`, `:${cutter.port}/`), chain.url);
});
afterAll(async () => {
  await indexer?.end();
  await cutter?.stop();
  await chain?.stop();
  await database?.drop();
});

const [, alice] = accounts.map((account) => account.address);

/** What the index shows of a contract, after one mint for every id from 0. */
async function shownOf(address: string) {
  await untilIndexed(database.pool, chain);
  const contract = Buffer.from(address.slice(2), "hex");
  const { rows } = await database.pool.query(
    `SELECT (SELECT array_agg(token_id::int ORDER BY token_id) FROM nft.holdings h WHERE h.contract = c.address) AS held,
       (SELECT count(*)::int FROM nft.transfers t WHERE t.contract = c.address) AS transfers, c.token_count::int AS tokens
     FROM nft.contracts c WHERE c.address = $1`,
    [contract],
  );
  return rows;
}

test("Ponder ends with any connection that the database takes from it, says so, and goes on from what is there", async () => {
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  await chain.call(nft, "mint", [alice]);
  await untilIndexed(database.pool, chain);
  const before = await indexer.ponderPid();
  const { rows } = await database.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'c31337%' LIMIT 1`,
  );
  expect(rows).toHaveLength(1);
  await until(async () => !(await isRunning(before)), "Ponder to end");
  // What it said reaches us through its launcher, a moment after its end.
  await until(async () => indexer.log().includes("A connection to the database was lost"), "its last words");
  await chain.call(nft, "mint", [alice]);
  expect(await shownOf(nft.address)).toEqual([{ held: [0, 1], transfers: 2, tokens: 2 }]);
});

test("what Ponder's own connections commit outlives a crash of PostgreSQL, and they may rest", async () => {
  const script = `
    const { createPool } = await import(${JSON.stringify(join(ponderFolder(), "dist/esm/utils/pg.js"))});
    const pool = createPool({ connectionString: ${JSON.stringify(database.url)}, max: 2 }, console);
    const shown = await Promise.all(["synchronous_commit", "idle_session_timeout"].map((name) => pool.query("SHOW " + name)));
    console.log(JSON.stringify(shown.map(({ rows }) => rows[0])));
    await pool.end();`;
  const guard = new URL("../../src/indexing/ponder-guards.ts", import.meta.url).href;
  const settings = async (...more: string[]) => {
    const { stdout } = await run(process.execPath, [...more, "--input-type=module", "-e", script]);
    return JSON.parse(stdout);
  };
  const [plain] = await settings();
  expect(plain).toEqual({ synchronous_commit: "off" });
  expect(await settings("--import", guard)).toEqual([{ synchronous_commit: "on" }, { idle_session_timeout: "0" }]);
});

test("a commit whose answer is lost, of a block and of a backfill, loses and doubles nothing", async () => {
  const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
  let minted = 0;
  for (const blocks of [1, 45]) {
    await untilIndexed(database.pool, chain);
    const before = await indexer.ponderPid();
    cutter.cutNext();
    // The block that is new, then the blocks that came while Ponder was away: those are a backfill.
    if (blocks > 1) process.kill(before, "SIGKILL");
    for (let count = 0; count < blocks; count++, minted++) await chain.call(nft, "mint", [alice]);
    await until(async () => !(await isRunning(before)), "Ponder to end");
    const held = Array.from({ length: minted }, (_, id) => id);
    expect(await shownOf(nft.address)).toEqual([{ held, transfers: minted, tokens: minted }]);
  }
});
