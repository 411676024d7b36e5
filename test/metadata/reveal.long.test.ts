// 300 tokens as a test; `npm run -s mintyard -- dev bench reveal` runs the same with 10,000 and prints the figures.
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { type Chain, startChain } from "../indexing/indexed-chain.ts";
import { compileSolidity } from "../setup/compile.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import type { NftFixture } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { slowness, wait } from "../setup/wait.ts";
import { images } from "./corpus.ts";
import { mintOf } from "./strange-server.ts";

const tokens = Number(process.env["REVEAL_TOKENS"] ?? 300);
const timeoutMs = 1_500_000 * slowness;

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Drop {
  string base;
  bool revealed;
  function set(string calldata text, bool all) external { base = text; revealed = all; }
  function tokenURI(uint256 id) external view returns (string memory) {
    if (!revealed) return base;
    bytes memory digits = new bytes(5);
    for (uint256 at = 5; at > 0; at--) { digits[at - 1] = bytes1(uint8(48 + id % 10)); id /= 10; }
    return string.concat(base, string(digits));
  }
}`;

const folder = temporaryFolder();
let database: TestDatabase;
let chain: Chain;
let index: NftFixture;
let apis: ReadApis;
let contract: Awaited<ReturnType<Chain["deploy"]>>;
let hidden: string;
let revealed: string;

beforeAll(async () => {
  chain = await startChain();
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [fixture] = indexed.nfts;
  // The worker publishes views of its own over the chains that it finds here.
  await ensureNftViews(database.url);
  await database.pool.query(
    "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live) VALUES ('c31337_test', 31337, '0x', true)",
  );
  if (!fixture) throw new Error("no fixture");
  index = fixture;
  apis = openReadApis(database, { env: { RPC_URL_GOERLI: chain.url, MINTYARD_DATA_DIR: folder } });
  const { content } = apis.services;
  const file = (bytes: Buffer) =>
    content.addFile(
      {
        stream: (async function* () {
          yield bytes;
        })(),
      },
      async (_transaction, { cid }) => cid,
    );
  const image = await file(images.png(1_000, 1_000));
  hidden = `ipfs://${await file(Buffer.from(`{"name":"Hidden","image":"ipfs://${image}"}`))}`;
  const directory = await content.addDirectory(
    (async function* () {
      for (let id = 0; id < tokens; id += 1) {
        const document = {
          name: `Key #${id}`,
          image: `ipfs://${image}`,
          attributes: [{ trait_type: "Number", value: id }],
        };
        const bytes = Buffer.from(JSON.stringify(document));
        yield { names: [String(id).padStart(5, "0")], bytes, contentType: "application/json" };
      }
    })(),
    async (_transaction, { cid }) => cid,
  );
  revealed = `ipfs://${directory}/`;
  const compiled = compileSolidity(source)["Drop"];
  if (!compiled) throw new Error("not compiled");
  contract = await chain.deploy(compiled);
  await chain.call(contract, "set", [hidden, false]);
  await chain.client.mine({ blocks: 200 });
  const mints = Array.from({ length: tokens }, (_, id) => mintOf(contract.address, BigInt(id)));
  for (let at = 0; at < mints.length; at += 1_000) await index.add(mints.slice(at, at + 1_000));
  // As the launcher does after a backfill.
  await database.pool.query("ANALYZE");
}, timeoutMs);
afterAll(async () => {
  await chain?.stop();
  await apis.services.pool.end();
  await database.drop();
});

async function progress(): Promise<{ total: number; fresh: number; pending: number; failed: number }> {
  const { data } = await apis.graphql(
    `{ contract(chain: "goerli", address: "${contract.address}") { metadataProgress { total fresh pending failed } } }`,
  );
  return data.contract.metadataProgress;
}

async function readPage(): Promise<number> {
  const started = performance.now();
  const { status } = await apis.v0(`/nfts/${contract.address}?chain=goerli&page_size=50&include=all`);
  expect(status).toBe(200);
  return performance.now() - started;
}

/** Asks for the progress until nothing is pending, and reads pages all the while. */
async function follow(begun: () => Promise<boolean>) {
  // A process of its own, as in production: what it works on shall not hold up this one's answers.
  const worker = await ServiceProcess.start("worker", {
    ...{ DATABASE_URL: database.url, MINTYARD_DATA_DIR: folder, RPC_URL_GOERLI: chain.url, LOG_LEVEL: "warn" },
    ...{ CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true" },
  });
  const started = performance.now();
  const steps: number[] = [];
  const reads: number[] = [];
  let seconds = 0;
  try {
    await wait("its beginning", begun);
    for (;;) {
      const now = await progress();
      steps.push(now.fresh);
      if (now.pending === 0) break;
      for (let at = 0; at < 10; at += 1) {
        reads.push(await readPage());
        await sleep(20);
      }
    }
    seconds = (performance.now() - started) / 1_000;
  } finally {
    await worker.end();
  }
  return { steps, reads, seconds };
}

function part(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? 0) * 10) / 10;
}

test(
  "a collection that is revealed at once is read as a whole, its progress is seen, and it stays readable",
  async () => {
    const hiddenRun = await follow(async () => (await progress())?.total === tokens);
    const quiet: number[] = [];
    // For the figures alone.
    const looks = process.env["REVEAL_TOKENS"] ? 1_050 : 0;
    for (let at = 0; at < looks; at += 1) {
      quiet.push(await readPage());
      // In the rhythm of the reads during the reveal.
      await sleep(20);
    }

    await chain.call(contract, "set", [revealed, true]);
    const head = Number(await chain.client.getBlockNumber({ cacheTime: 0 }));
    await index.setHead(head - 1);
    await index.announce(contract.address.toLowerCase(), 0n, BigInt(tokens - 1));
    const run = await follow(async () => (await progress()).pending > 0);

    expect(await progress()).toEqual({ total: tokens, fresh: tokens, pending: 0, failed: 0 });
    expect(run.steps).toEqual([...run.steps].sort((a, b) => a - b));
    expect(new Set(run.steps).size).toBeGreaterThan(2);
    const { rows } = await database.pool.query(
      `SELECT count(*) FILTER (WHERE name = 'Key #' || token_id) AS named,
        count(*) FILTER (WHERE file_width = 1000 AND file_type = 'image/png') AS sized FROM service.token_metadata`,
    );
    expect(rows[0]).toEqual({ named: BigInt(tokens), sized: BigInt(tokens) });
    // Once by this file; and by the worker, since what was counted then was an empty table.
    // A session of the database reports its counts about a second later.
    const counted = async () => {
      const { rows } = await database.pool.query<{ times: bigint }>(
        "SELECT analyze_count AS times FROM pg_stat_user_tables WHERE relid = 'service.token_metadata'::regclass",
      );
      return rows[0]?.times ?? 0n;
    };
    await wait("a second count", counted, { until: (times) => times > 1n });
    if (process.env["REVEAL_TOKENS"]) {
      const rate = (seconds: number) =>
        `${tokens} tokens in ${seconds.toFixed(1)} s, ${Math.round(tokens / seconds)}/s`;
      const pages = (reads: number[]) => `p50 ${part(reads, 0.5)} ms, p99 ${part(reads, 0.99)} ms of ${reads.length}`;
      process.stdout.write(
        `first reading: ${rate(hiddenRun.seconds)}\nreveal: ${rate(run.seconds)}, progress seen ${new Set(run.steps).size} times\n` +
          `page of 50, quiet: ${pages(quiet.slice(50))}\npage of 50, during the reveal: ${pages(run.reads)}\n`,
      );
    }
  },
  timeoutMs,
);
