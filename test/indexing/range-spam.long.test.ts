import { setTimeout as wait } from "node:timers/promises";
import { encodeFunctionData, type Hex, toHex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { discover } from "../../src/metadata/discover/discover.ts";
import { slowness } from "../setup/wait.ts";
import type { Anvil } from "./anvil.ts";
import { consecutiveTopic, hostileContract, type Log, transferTopic, word, words } from "./hostile-cases.ts";
import { IndexedAnvil } from "./indexed-anvil.ts";
import { until } from "./indexed-chain.ts";

const spamTransactions = 20;
/** In one block: each flood is over in half as many blocks, and each of those is as heavy as two. */
const eachBlock = 2;
const tokensEach = 10_000n;
const spamTokens = spamTransactions * Number(tokensEach);
const leastBlockTimeMs = 2_000;
let indexed: IndexedAnvil;
let chain: Anvil;
let query: IndexedAnvil["query"];

// Both floods on one index: senders and contracts of the second one are others.
beforeAll(async () => {
  indexed = await IndexedAnvil.start();
  chain = indexed.chain;
  query = indexed.query.bind(indexed);
});
afterAll(() => indexed?.stop());

const raw = (hex: Hex) => Buffer.from(hex.slice(2), "hex");

/** Bytes of all tables and indexes of the database, and of the write-ahead log so far. */
async function bytes(): Promise<{ disk: number; wal: number }> {
  const [row] = await query(`SELECT pg_current_wal_lsn() - '0/0' AS wal, (SELECT sum(pg_total_relation_size(oid))
    FROM pg_class WHERE relkind IN ('r', 'm') AND relnamespace::regnamespace::text !~ '^pg_') AS disk`);
  return { disk: Number(row?.["disk"]), wal: Number(row?.["wal"]) };
}

const count = async (sql: string) => Number((await query(`SELECT count(*) FROM ${sql}`))[0]?.["count"]);

let day = Math.floor(Date.now() / 86_400_000);

/** The same wallet each time, or another wallet each time. */
const floods = { "one sender": () => 0, "twenty senders": (index: number) => 1 + index };

test.each(Object.keys(floods) as (keyof typeof floods)[])(
  "200,000 tokens of twenty cheap transactions of %s cost less than 200 bytes each, make few jobs and delay nobody",
  async (name) => {
    // What a chain lists is counted by the day of its blocks: noon of another one, so that none ends meanwhile.
    day += 1;
    await chain.rpc("evm_setNextBlockTimestamp", [day * 86_400 + 43_200]);
    const honest = await chain.deploy(hostileContract());
    const hostile = [];
    for (let count = 0; count < spamTransactions; count++) hostile.push(await chain.deploy(hostileContract()));
    const shown = async () => {
      const [row] = await query("SELECT max(block_number) AS block FROM nft.transfers WHERE contract = $1", [
        raw(honest.address),
      ]);
      return row?.["block"] as bigint | null;
    };
    const mint = async (id: number) => {
      const log: Log = { topics: [transferTopic, word(0n), word(7n), word(BigInt(id))], data: "0x" };
      await chain.call(honest, "say", [[log]], 1);
      await chain.mine();
      return chain.head();
    };
    let calmMs = 0;
    for (let round = 0; round < 3; round++) {
      const block = await mint(1_000 + round);
      const mined = Date.now();
      await until(async () => (await shown()) === block, "a mint without spam", 600_000);
      calmMs = Math.max(calmMs, Date.now() - mined);
    }
    await query("CHECKPOINT");
    const before = await bytes();
    const counted = async () => ({
      rows: await count("nft.transfers"),
      tokens: await count("nft.tokens"),
      jobs: await count("service.token_metadata"),
    });
    const countedBefore = await counted();
    const blockTimeMs = Math.max(leastBlockTimeMs, 4 * calmMs);
    const first = (await chain.head()) + 1n;
    const lags: number[] = [];
    let head = first - 1n;
    for (let sent = 0; sent < spamTransactions; sent += eachBlock) {
      for (const [index, { address, abi }] of hostile.slice(sent, sent + eachBlock).entries()) {
        const range = {
          topics: [consecutiveTopic, word(0n), word(0n), word(9n)],
          data: words(tokensEach - 1n),
        };
        const from = toHex(0x5e4de400 + floods[name](sent + index), { size: 20 });
        await chain.rpc("anvil_setBalance", [from, toHex(10n ** 20n)]);
        await chain.rpc("anvil_impersonateAccount", [from]);
        const data = encodeFunctionData({ abi, functionName: "say", args: [[range]] });
        await chain.rpc("eth_sendTransaction", [{ from, to: address, data, gas: toHex(10_000_000) }]);
      }
      head = await mint(sent);
      for (const mined = Date.now(); Date.now() - mined < blockTimeMs; await wait(100))
        lags.push(Number(head - ((await shown()) ?? first - 1n)));
    }
    await until(async () => (await shown()) === head, "the last honest mint", 600_000);
    await indexed.untilHead();
    const indexedBytes = await bytes();
    await discover(indexed.database.db, 31337, head, { firstTokens: 100, refreshWindowSeconds: 0 });
    const after = await bytes();
    const { rows, tokens, jobs } = await counted();
    const figures = {
      name,
      rows: rows - countedBefore.rows,
      tokens: tokens - countedBefore.tokens,
      jobs: jobs - countedBefore.jobs,
      diskPerToken: Math.round((after.disk - before.disk) / spamTokens),
      ofThatMetadata: Math.round((after.disk - indexedBytes.disk) / spamTokens),
      walPerToken: Math.round((after.wal - before.wal) / spamTokens),
      mostLag: Math.max(...lags),
      blockTimeMs,
    };
    console.log(JSON.stringify(figures));
    expect(figures.mostLag).toBeLessThanOrEqual(2);
    expect(figures.diskPerToken).toBeLessThanOrEqual(200);
    expect(figures.jobs).toBeLessThanOrEqual((spamTransactions + 1) * 100);
  },
  900_000 * slowness,
);
