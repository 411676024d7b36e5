import { encodeFunctionData, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { type Fault, type FaultyRpc, html, startFaultyRpc } from "./faulty-rpc.ts";
import { hostileContract, transferTopic, word } from "./hostile-cases.ts";

type Fields = Record<string, unknown>;

const log = createLogger("test", "silent");
const open: RpcGateway[] = [];
let chain: Anvil;
let faultyRpc: FaultyRpc;
/** Sends transfers of these tokens in one transaction. */
let say: (...ids: bigint[]) => Promise<unknown>;
/** A block with three transfers in two transactions, and its number. */
let busy: { hash: Hex; number: Hex; parentHash: Hex };

beforeAll(async () => {
  chain = await startAnvil();
  faultyRpc = await startFaultyRpc(chain.url);
  const nft = await chain.deploy(hostileContract());
  say = (...ids) => {
    const logs = ids.map((id) => ({ topics: [transferTopic, word(0n), word(7n), word(id)], data: "0x" }));
    return chain.send(nft.address, encodeFunctionData({ abi: nft.abi, functionName: "say", args: [logs] }));
  };
  await say(1n, 2n);
  await say(3n);
  await chain.mine();
  busy = await chain.rpc("eth_getBlockByNumber", ["latest", false]);
  for (let count = 0; count < 3; count++) await chain.mine();
});
afterEach(async () => {
  for (const gateway of open.splice(0)) await gateway.close();
});
afterAll(async () => {
  await faultyRpc?.stop();
  await chain?.stop();
});

async function gateway(verification: "proofs" | "logs", urls: string[], requestsPerSecond = 0): Promise<RpcGateway> {
  const settings = { name: "goerli", id: 31337, verification, requestsPerSecond, lagTimeoutMs: 60_000, local: false };
  const started = await startRpcGateway(settings, urls, log);
  open.push(started);
  return started;
}

const first = (list: Fields[]): Fields => list[0] ?? {};
const logsOf = (edit: (logs: Fields[]) => unknown[]) => (receipts: unknown) =>
  (receipts as Fields[]).map((receipt, index) =>
    index === 0 ? { ...receipt, logs: edit(receipt["logs"] as Fields[]) } : receipt,
  );
const swapped = (logs: Fields[]) => [
  { ...logs[1], logIndex: logs[0]?.["logIndex"] },
  { ...logs[0], logIndex: logs[1]?.["logIndex"] },
];
const toOther = (one: Fields) => ({
  ...one,
  topics: (one["topics"] as Hex[]).map((topic, index) => (index === 2 ? word(9n) : topic)),
});
const shifted = (one: Fields) => ({ ...one, logIndex: `0x${(Number(one["logIndex"]) + 1).toString(16)}` });
const none: Fault = () => null;
const page: Fault = () => html;

/** What is asked of a gateway, of which a node's answer to `method` is a part. */
type Question = () => [method: string, params: unknown[]];
const byRange: Question = () => ["eth_getLogs", [{ fromBlock: "0x1", toBlock: busy.number, topics: [transferTopic] }]];
const byHash: Question = () => ["eth_getLogs", [{ blockHash: busy.hash, topics: [transferTopic] }]];
const block: Question = () => ["eth_getBlockByNumber", [busy.number, true]];
const receipts = "eth_getBlockReceipts";
const blocks = "eth_getBlockByNumber";
type Case = [mode: "proofs" | "logs", name: string, ask: Question, method: string, fault: Fault];

const cases: Case[] = [
  ["proofs", "a log dropped", byRange, receipts, logsOf((logs) => logs.slice(1))],
  ["proofs", "the last log dropped", byHash, receipts, logsOf((logs) => logs.slice(0, -1))],
  ["proofs", "a log doubled", byRange, receipts, logsOf((logs) => [...logs, first(logs)])],
  ["proofs", "logs swapped", byRange, receipts, logsOf(swapped)],
  ["proofs", "an index shifted", byRange, receipts, logsOf((logs) => logs.map(shifted))],
  ["proofs", "another receiver", byRange, receipts, logsOf((logs) => logs.map(toOther))],
  [
    "proofs",
    "logs of a sibling block",
    byRange,
    receipts,
    logsOf((logs) => logs.map((one) => ({ ...one, blockHash: busy.parentHash }))),
  ],
  ["proofs", "no receipts", byRange, receipts, () => []],
  ["proofs", "a cut list", byRange, receipts, (list) => (list as unknown[]).slice(0, -1)],
  ["proofs", "receipts in another order", byRange, receipts, (list) => [...(list as unknown[])].reverse()],
  ["proofs", "null for receipts", byRange, receipts, none],
  ["proofs", "a web page for receipts", byRange, receipts, page],
  [
    "proofs",
    "an empty bloom filter",
    byRange,
    blocks,
    (one) => ({ ...(one as Fields), logsBloom: `0x${"0".repeat(512)}` }),
  ],
  ["proofs", "another receipts root", block, blocks, (one) => ({ ...(one as Fields), receiptsRoot: word(1n) })],
  ["proofs", "a block without its transactions", block, blocks, (one) => ({ ...(one as Fields), transactions: [] })],
  ["proofs", "a block with a wrong hash", block, blocks, (one) => ({ ...(one as Fields), hash: word(1n) })],
  ["proofs", "a block of another number", block, blocks, (one) => ({ ...(one as Fields), number: "0x1" })],
  ["proofs", "null for a block", block, blocks, none],
  ["proofs", "a web page for a block", block, blocks, page],
  ["logs", "a log doubled", byRange, "eth_getLogs", (list) => [...(list as Fields[]), first(list as Fields[])]],
  ["logs", "logs out of order", byRange, "eth_getLogs", (list) => [...(list as Fields[])].reverse()],
  [
    "logs",
    "a log of another topic",
    byRange,
    "eth_getLogs",
    (list) => (list as Fields[]).map((one) => ({ ...one, topics: [word(1n)] })),
  ],
  [
    "logs",
    "a log outside of the range",
    byRange,
    "eth_getLogs",
    (list) => (list as Fields[]).map((one) => ({ ...one, blockNumber: "0xffff" })),
  ],
  [
    "logs",
    "logs of another block",
    byHash,
    "eth_getLogs",
    (list) => (list as Fields[]).map((one) => ({ ...one, blockHash: busy.parentHash })),
  ],
  [
    "logs",
    "a removed log",
    byRange,
    "eth_getLogs",
    (list) => (list as Fields[]).map((one) => ({ ...one, removed: true })),
  ],
  [
    "logs",
    "two hashes for one block",
    byRange,
    "eth_getLogs",
    (list) => (list as Fields[]).map((one, index) => (index === 1 ? { ...one, blockHash: word(1n) } : one)),
  ],
  ["logs", "an entry that is no log", byRange, "eth_getLogs", () => [{}]],
  ["logs", "null for logs", byRange, "eth_getLogs", none],
  ["logs", "a web page for logs", byRange, "eth_getLogs", page],
  ["logs", "a block of another number", block, blocks, (one) => ({ ...(one as Fields), number: "0x1" })],
  ["logs", "a web page for a block", block, blocks, page],
];

test.each(cases)("%s: %s is refused, and another endpoint's answer taken", async (mode, _, ask, method, fault) => {
  const [asked, params] = ask();
  const expected = await (await gateway(mode, [chain.url])).request(asked, params);
  expect(JSON.stringify(expected)).toContain(busy.hash);
  Object.assign(faultyRpc, { method: "", fault });
  const [both, alone] = [await gateway(mode, [faultyRpc.url, chain.url]), await gateway(mode, [faultyRpc.url])];
  faultyRpc.method = method;
  expect(await both.request(asked, params)).toEqual(expected);
  const answer = await alone.request(asked, params).catch(() => "refused");
  // When every node says that there is nothing, nothing it is; rows are never made of it.
  expect(fault === none ? [null, "refused"] : ["refused"]).toContain(answer);
});

test("logs: a list that was cut short passes, which is what proofs are for", async () => {
  const [asked, params] = byRange();
  Object.assign(faultyRpc, { method: "", fault: (list: unknown) => (list as unknown[]).slice(0, 1) });
  const only = await gateway("logs", [faultyRpc.url]);
  faultyRpc.method = "eth_getLogs";
  expect(await only.request(asked, params)).toHaveLength(1);
});

test("a log whose transaction the block does not have is noticed before the index sees either", async () => {
  const only = await gateway("proofs", [faultyRpc.url]);
  faultyRpc.method = "";
  await only.request(...byRange());
  const other = (one: unknown) => ({
    ...(one as Fields),
    transactions: ((one as Fields)["transactions"] as Fields[]).map((each) => ({ ...each, hash: word(5n) })),
  });
  Object.assign(faultyRpc, { method: blocks, fault: other });
  await expect(only.request(...block())).rejects.toThrow(/not those of its logs/);
});

test("a head that goes back is lag: the head that was seen stays", async () => {
  faultyRpc.method = "";
  const only = await gateway("proofs", [faultyRpc.url]);
  const head = (await only.request("eth_getBlockByNumber", ["latest", false])) as Fields;
  const old = await chain.rpc("eth_getBlockByNumber", [busy.number, false]);
  Object.assign(faultyRpc, {
    method: blocks,
    fault: (one: unknown, [tag]: unknown[]) => (tag === "latest" ? old : one),
  });
  expect(await only.request("eth_getBlockByNumber", ["latest", false])).toMatchObject({ hash: head["hash"] });
});

test.each(["proofs", "logs"] as const)("%s: logs of a block that was replaced are refused for good", async (mode) => {
  const { url } = await gateway(mode, [chain.url, faultyRpc.url]);
  const statusOf = async (method: string, ...params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    return (await fetch(url, { method: "POST", body })).status;
  };
  await say(9n);
  await chain.mine();
  const { hash } = await chain.rpc<{ hash: Hex }>("eth_getBlockByNumber", ["latest", false]);
  expect(await statusOf("eth_getBlockByNumber", "latest", true)).toBe(200);
  await chain.rpc("anvil_reorg", [1, []]);
  expect(await statusOf("eth_getLogs", { blockHash: hash })).toBe(404);
  // Of a block that nobody has shown it may come yet.
  expect(await statusOf("eth_getLogs", { blockHash: `0x${"ab".repeat(32)}` })).not.toBe(404);
});

test("an endpoint is asked no more often than its rate allows", async () => {
  faultyRpc.method = "";
  const slow = await gateway("logs", [faultyRpc.url], 20);
  faultyRpc.times.length = 0;
  // Not from when the first one came: it can come late, and the others no sooner for it.
  const began = performance.now();
  await Promise.all(Array.from({ length: 21 }, () => slow.request("eth_blockNumber", [])));
  expect(faultyRpc.times).toHaveLength(21);
  expect((faultyRpc.times.at(-1) ?? 0) - began).toBeGreaterThan(900);
});
