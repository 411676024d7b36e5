import { execFile } from "node:child_process";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { contracts, type Indexer, startIndexer, until } from "./indexed-chain.ts";

let database: TestDatabase;
let chain: Anvil;
let indexer: Indexer;

beforeAll(async () => {
  [database, chain] = await Promise.all([createTestDatabase(), startAnvil()]);
  indexer = await startIndexer(database.url, chain.url);
});
afterAll(async () => {
  await indexer?.end();
  await chain?.stop();
  await database?.drop();
});

function doctor(): Promise<{ code: number; text: string }> {
  const env = { DATABASE_URL: database.url, RPC_URL_GOERLI: chain.url, CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true" };
  return new Promise((done) => {
    execFile(process.execPath, ["bin/mintyard.ts", "doctor"], { env }, (error, stdout, stderr) => {
      done({ code: error ? Number(error.code) : 0, text: stdout + stderr });
    });
  });
}

async function untilJournal(): Promise<void> {
  const head = await chain.rpc<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
  await until(
    async () => {
      const { rows } = await database.pool.query("SELECT 1 FROM service.chain_freshness WHERE indexed_hash = $1", [
        head.hash,
      ]);
      return rows.length === 1;
    },
    "the journal to hold the head",
    90_000,
  );
}

test(
  "the doctor finds a healthy index healthy, also after a reorganisation that the journal notes",
  async () => {
    const nft = await chain.deploy(contracts().Erc721, ["Nft", "NFT", "ipfs://x/"]);
    for (let count = 0; count < 5; count++) {
      await chain.call(nft, "mint", [chain.account(count)]);
      await chain.mine();
    }
    await untilJournal();
    await chain.rpc("anvil_reorg", [3, []]);
    await chain.call(nft, "mint", [chain.account(9)]);
    await chain.mine();
    await untilJournal();
    const { rows } = await database.pool.query("SELECT depth FROM service.chain_reorg");
    expect(rows).toEqual([{ depth: 3n }]);
    const { code, text } = await doctor();
    expect(text).toContain("all is well");
    expect(text).toMatch(/ok {3}I5 3 sampled owners/);
    expect(code).toBe(0);
  },
  240_000 * slowness,
);

test("each law that is broken is named, with an example and what mends it", async () => {
  const { rows } = await database.pool.query("SELECT schema_name AS name FROM nft.index_version WHERE live");
  const schema = String(rows[0].name);
  await indexer.end();
  await database.pool.query(
    `UPDATE "${schema}".token SET last_to = decode(repeat('11', 20), 'hex') WHERE token_id = 0`,
  );
  await database.pool.query("UPDATE service.chain_block SET hash = '0xbad' WHERE number = 2");
  const { code, text } = await doctor();
  for (const law of ["I1", "I3", "I5"]) expect(text).toContain(`FAIL ${law} `);
  expect(text).toMatch(/fix: .*reindex/);
  expect(text).toContain("0x1111111111111111111111111111111111111111");
  expect(code).toBe(1);
});
