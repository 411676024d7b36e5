import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runMetadata } from "../../src/metadata/schedule/run-metadata.ts";
import { Rounds } from "../../src/rounds.ts";
import { type Chain, startChain, until } from "../indexing/indexed-chain.ts";
import { compileSolidity } from "../setup/compile.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import type { NftFixture } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { listen, mintOf, type Serving } from "./strange-server.ts";

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Based {
  string base;
  function set(string calldata text) external { base = text; }
  function royaltyInfo(uint256, uint256 price) external pure returns (address, uint256) {
    return (address(1), price * 725 / 10000);
  }
  function contractURI() external pure returns (string memory) {
    return 'data:application/json,{"name":"All","description":"of them","image":"i://1","banner_image":"i://2"}';
  }
  function tokenURI(uint256 id) external view returns (string memory) {
    bytes memory digits = new bytes(4);
    for (uint256 at = 4; at > 0; at--) { digits[at - 1] = bytes1(uint8(48 + id % 10)); id /= 10; }
    return string.concat(base, string(digits));
  }
}`;

let database: TestDatabase;
let chain: Chain;
let index: NftFixture;
let apis: ReadApis;
const asked: string[] = [];
const now = new Map<string, number>();
const most = new Map<string, number>();
const servers: Serving[] = [];
const everything = 2n ** 256n - 1n;
let compiled: ReturnType<typeof compileSolidity>;

async function serve(name: string, delayMs: number): Promise<string> {
  const server = await listen(
    createServer(async (request, response) => {
      asked.push(`${name}${request.url}`);
      now.set(name, (now.get(name) ?? 0) + 1);
      most.set(name, Math.max(most.get(name) ?? 0, now.get(name) ?? 0));
      await sleep(delayMs);
      now.set(name, (now.get(name) ?? 0) - 1);
      response.end(JSON.stringify({ name: `${name} ${request.url}` }));
    }),
  );
  servers.push(server);
  return server.url;
}

async function deploy(base: string) {
  const contract = compiled["Based"];
  if (!contract) throw new Error("not compiled");
  const deployed = await chain.deploy(contract);
  await chain.call(deployed, "set", [base]);
  return deployed;
}

const row = async (contract: { address: string }, tokenId: number) =>
  await database.db
    .selectFrom("service.token_metadata")
    .selectAll()
    .where("contract", "=", Buffer.from(contract.address.slice(2), "hex"))
    .where("token_id", "=", String(tokenId))
    .executeTakeFirst();
const mints = (contract: { address: string }, from: number, count: number) =>
  Array.from({ length: count }, (_, at) => mintOf(contract.address, BigInt(from + at)));

async function withWorker(work: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const running = runMetadata(apis.services, new Rounds(stop.signal));
  try {
    await work();
  } finally {
    stop.abort();
    await running;
  }
}

beforeAll(async () => {
  compiled = compileSolidity(source);
  chain = await startChain();
  await chain.client.mine({ blocks: 200 });
  const indexed = await createIndexedDatabase([31337, 31338]);
  database = indexed.database;
  const [fixture] = indexed.nfts;
  if (!fixture) throw new Error("no fixture");
  index = fixture;
  apis = openReadApis(database, {
    env: {
      RPC_URL_GOERLI: chain.url,
      METADATA_ALLOW_PRIVATE: "true",
      METADATA_PER_CONTRACT_MINUTE: "20",
      METADATA_REFRESH_WINDOW_SECONDS: "3600",
    },
  });
});
afterAll(async () => {
  await chain?.stop();
  for (const server of servers) await server.close();
  await apis.services.pool.end();
  await database.drop();
});

test("a contract with many tokens on a slow server keeps its part, and others are read meanwhile", async () => {
  const slow = await serve("slow", 300);
  const greedy = await deploy(`${slow}/`);
  const also = [await deploy(`${slow}/also/`), await deploy(`${slow}/also/`)];
  const small = await deploy(`${await serve("quick", 0)}/`);
  await index.add(mints(greedy, 0, 400));
  for (const contract of also) await index.add(mints(contract, 0, 30));
  await withWorker(async () => {
    await until(async () => asked.some((url) => url.startsWith("slow/")), "the first request");
    await index.add(mints(small, 0, 5));
    await until(
      async () =>
        (await Promise.all([0, 1, 2, 3, 4].map((id) => row(small, id)))).every((token) => token?.status === "fresh"),
      "the small one",
    );
  });
  expect(most.get("slow")).toBeLessThanOrEqual(4);
  // One minute's allowance, and what a second minute may have begun on a slow machine.
  expect(asked.filter((url) => /^slow\/\d/.test(url)).length).toBeLessThanOrEqual(40);
  expect((await row(greedy, 399))?.error_code ?? null).toBeNull();
  const contract = await database.db
    .selectFrom("service.contract_metadata")
    .selectAll()
    .where("address", "=", Buffer.from(small.address.slice(2), "hex"))
    .executeTakeFirst();
  expect(contract).toMatchObject({
    name: "All",
    description: "of them",
    thumbnail_url: "i://1",
    banner_url: "i://2",
    royalty_bps: 725,
  });
  await database.pool.query("UPDATE service.token_metadata SET next_attempt_at = NULL WHERE status = 'pending'");
});

test("a storm of announcements makes one round of reading in its window", async () => {
  const stormy = await deploy(`${await serve("storm", 0)}/`);
  await index.add(mints(stormy, 0, 3));
  const reads = () => asked.filter((url) => url.startsWith("storm/")).length;
  await withWorker(async () => {
    await until(async () => (await row(stormy, 2))?.status === "fresh" && reads() === 3, "the first reading");
    const head = Number(await chain.client.getBlockNumber({ cacheTime: 0 }));
    await chain.client.mine({ blocks: 60 });
    await index.setHead(head + 1);
    for (let at = 0; at < 40; at += 1) await index.announce(stormy.address.toLowerCase(), 0n, everything);
    await until(async () => reads() >= 6, "the second reading");
    await index.announce(stormy.address.toLowerCase(), 0n, everything);
    // Some rounds of the worker, in which it would read again.
    await sleep(1_500);
  });
  // The first announcement, or those that came with it, and no other.
  expect(reads()).toBe(6);
});

test("what was read on a branch that died is read again, though nothing was announced above it", async () => {
  const url = await serve("fork", 0);
  const forked = await deploy(`${url}/old/`);
  await index.add(mints(forked, 0, 1));
  const before = await chain.client.snapshot();
  await chain.client.mine({ blocks: 3 });
  await withWorker(() => until(async () => (await row(forked, 0))?.name === "fork /old/0000", "the old branch"));
  const read = (await row(forked, 0))?.fetched_block ?? 0n;

  await chain.client.revert({ id: before });
  await chain.call(forked, "set", [`${url}/new/`]);
  for (let at = 0; at < 4; at += 1) await chain.client.mine({ blocks: 1 });
  const head = await chain.client.getBlockNumber({ cacheTime: 0 });
  expect(head).toBeGreaterThanOrEqual(read);
  await index.setHead(Number(head));
  await withWorker(() => until(async () => (await row(forked, 0))?.name === "fork /new/0000", "the new branch"));
});
