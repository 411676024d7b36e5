import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { encodeFunctionData, type Hex, keccak256, stringToBytes } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compileSolidity } from "../setup/compile.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { type FaultyRpc, startFaultyRpc } from "./faulty-rpc.ts";
import { hostileContract, type Log, transferTopic, word } from "./hostile-cases.ts";
import { type Indexer, startIndexer, until } from "./indexed-chain.ts";

type Deployed = Awaited<ReturnType<Anvil["deploy"]>>;
const deployedTopic = keccak256(stringToBytes("CollectionDeployed(bytes32,address,address)"));
const productTopic = keccak256(stringToBytes("ProductDeployed(bytes32,address,address)"));
const many = 3_000n;

let database: TestDatabase;
let node: Anvil;
let proxy: FaultyRpc;
let indexer: Indexer;
let nft: Deployed;
let other: Deployed;
let factory: Deployed;
let operator: Deployed;
let ours: Deployed;
let large: Deployed;
let lateBlock: bigint;

const say = (contract: Deployed, ...logs: Log[]) =>
  node.send(contract.address, encodeFunctionData({ abi: contract.abi, functionName: "say", args: [logs] }));
const mint = (id: bigint): Log => ({ topics: [transferTopic, word(0n), word(7n), word(id)], data: "0x" });

/** A chain that no file of this repository names: its id and endpoint are all that is configured. */
async function start(env: Record<string, string> = {}): Promise<Indexer> {
  await indexer?.end();
  const urls = `${proxy.url},${node.url.replace("http", "ws")}`;
  // Who is told of new heads only, and does not ask, takes in the present one with the next: this chain goes on.
  let waiting = true;
  const goesOn = (async () => {
    for (; waiting; await wait(500)) await node.mine();
  })();
  try {
    return await startIndexer(database.url, urls, { CHAIN_ID_BASE: "8453", LOCAL_BASE: "false", ...env }, "base");
  } finally {
    waiting = false;
    await goesOn;
  }
}

beforeAll(async () => {
  [database, node] = await Promise.all([createTestDatabase(), startAnvil(8453)]);
  proxy = await startFaultyRpc(node.url);
  const { Chaos721 } = compileSolidity(readFileSync(new URL("../fixtures/Chaos.sol", import.meta.url), "utf8"));
  if (!Chaos721) throw new Error("Chaos.sol was not compiled");
  [nft, other, factory, operator] = [
    await node.deploy(hostileContract()),
    await node.deploy(hostileContract()),
    await node.deploy(hostileContract()),
    await node.deploy(hostileContract()),
  ];
  [ours, large] = [await node.deploy(hostileContract()), await node.deploy(Chaos721)];
  await say(nft, mint(1n));
  await say(factory, { topics: [deployedTopic, word(1n), word(ours.address), word(7n)], data: "0x" });
  await say(ours, mint(1n));
  for (const [index, product] of [nft, ours].entries())
    await say(operator, {
      topics: [productTopic, word(1n), word(product.address), word(BigInt(8 + index))],
      data: "0x",
    });
  await node.mine();
  for (let count = 0; count < 3; count++) await node.call(large, "mint", [node.account(1), many / 3n]);
  await node.mine();
  await say(other, mint(1n));
  await node.mine();
  lateBlock = await node.head();
});
afterAll(async () => {
  await indexer?.end();
  await proxy?.stop();
  await node?.stop();
  await database?.drop();
});

async function contracts(): Promise<Hex[]> {
  const { rows } = await database.pool.query<{ hex: string }>(
    "SELECT DISTINCT encode(contract, 'hex') AS hex FROM nft.transfers WHERE chain_id = 8453 ORDER BY 1",
  );
  return rows.map(({ hex }): Hex => `0x${hex}`);
}

/** The creators of a contract's tokens: who minted is account 0 of the node, product owners are numbers. */
async function creators(of: Deployed): Promise<string[]> {
  const { rows } = await database.pool.query<{ hex: string }>(
    "SELECT encode(creator, 'hex') AS hex FROM nft.tokens WHERE contract = $1 ORDER BY token_id",
    [Buffer.from(of.address.slice(2), "hex")],
  );
  return rows.map(({ hex }) => (`0x${hex}` === node.account(0) ? "sender" : String(BigInt(`0x${hex}`))));
}

test(
  "a further chain is indexed by its id and endpoint alone, only listed contracts if configured, and heads come by websocket",
  async () => {
    indexer = await start({ INDEX_SCOPE_BASE: `${nft.address},${factory.address}`, OPERATOR_BASE: operator.address });
    expect(await contracts()).toEqual([nft.address]);
    expect(await creators(nft)).toEqual(["8"]);
    proxy.asked.length = 0;
    await say(nft, mint(2n));
    await say(other, mint(2n));
    await node.mine();
    await until(
      async () => (await database.pool.query("SELECT FROM nft.transfers")).rowCount === 2,
      "the block that was announced",
      120_000,
    );
    expect(await contracts()).toEqual([nft.address]);
    // Polling for heads asks for the newest block with its transactions.
    expect(proxy.asked.filter((asked) => asked === 'eth_getBlockByNumber ["latest",true]')).toEqual([]);
  },
  300_000 * slowness,
);

test(
  "the scope of our factory holds what the factory made and nothing else",
  async () => {
    const scope = { INDEX_SCOPE_BASE: "factory", FACTORY_BASE: factory.address };
    indexer = await start({ ...scope, OPERATOR_BASE: operator.address });
    expect(await contracts()).toEqual([ours.address]);
    expect(await creators(ours)).toEqual(["9"]);
  },
  300_000 * slowness,
);

const counts = `SELECT (SELECT count(*) FROM nft.transfers)::int AS transfers, (SELECT count(*) FROM nft.tokens)::int AS tokens,
  (SELECT count(*) FROM nft.holdings)::int AS holdings, (SELECT count(*) FROM nft.contracts)::int AS contracts,
  (SELECT coalesce(sum(token_count), 0) FROM nft.contracts)::int AS counted, (SELECT count(*) FROM nft.heads)::int AS heads`;

test(
  "a chain that is indexed anew shows the old rows until all new ones are there, to every reader",
  async () => {
    indexer = await start({ START_BLOCK_BASE: String(lateBlock), OPERATOR_BASE: operator.address });
    expect(await contracts()).toEqual([nft.address, other.address].sort());
    // The product is from before the first block that is indexed.
    expect([await creators(nft), await creators(other)]).toEqual([["8"], ["sender", "sender"]]);
    const { rows: before } = await database.pool.query(counts);
    expect(before).toEqual([{ transfers: 3, tokens: 3, holdings: 3, contracts: 2, counted: 3, heads: 1 }]);
    const seen = new Set<string>();
    let reading = true;
    let reads = 0;
    const reader = (async () => {
      for (; reading; reads++) {
        seen.add(JSON.stringify((await database.pool.query(counts)).rows[0]));
        await wait(25);
      }
    })();
    indexer = await start();
    reading = false;
    await reader;
    const all = { transfers: 3_005, tokens: 3_005, holdings: 3_005, contracts: 4, counted: 3_005, heads: 1 };
    expect([...seen].filter((each) => ![JSON.stringify(before[0]), JSON.stringify(all)].includes(each))).toEqual([]);
    expect((await database.pool.query(counts)).rows).toEqual([all]);
    console.log(`${reads} reads during the change`);
  },
  300_000 * slowness,
);
