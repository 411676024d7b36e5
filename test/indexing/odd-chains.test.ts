import { pino } from "pino";
import { encodeFunctionData, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { hostileContract, transferTopic, word } from "./hostile-cases.ts";
import { type Fields, fullBloom, type OddChain, type Oddities, startOddChain, zeroBloom } from "./odd-chain.ts";

const open: { stop(): Promise<unknown> }[] = [];
const lines: string[] = [];
const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
let node: Anvil;
/** Numbers of a block with logs and of one that has a transaction and none, and the head's. */
let busy: Hex;
let quiet: Hex;
let head: Hex;
let say: (...ids: bigint[]) => Promise<unknown>;

beforeAll(async () => {
  node = await startAnvil();
  const nft = await node.deploy(hostileContract());
  say = (...ids) => {
    const logs = ids.map((id) => ({ topics: [transferTopic, word(0n), word(7n), word(id)], data: "0x" }));
    return node.send(nft.address, encodeFunctionData({ abi: nft.abi, functionName: "say", args: [logs] }));
  };
  await say(1n, 2n);
  await say(3n);
  await node.mine();
  busy = await node.rpc("eth_blockNumber");
  await node.send(node.account(1), "0x");
  await node.mine();
  quiet = await node.rpc("eth_blockNumber");
  await node.mine();
  await say(4n);
  await node.mine();
  head = await node.rpc("eth_blockNumber");
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
  lines.length = 0;
});
afterAll(async () => {
  await node?.stop();
});

async function odd(oddities: Oddities): Promise<OddChain> {
  const started = await startOddChain(node.url, oddities);
  open.push(started);
  return started;
}

async function gateway(verification: "proofs" | "logs" | "off", ...nodes: OddChain[]): Promise<RpcGateway> {
  const id = nodes[0]?.oddities.chainId ?? 31337;
  const settings = { name: "goerli", id, verification, requestsPerSecond: 0, lagTimeoutMs: 60_000, local: false };
  const urls = nodes.map(({ url }) => url);
  const started = await startRpcGateway(settings, urls, log);
  open.push({ stop: started.close });
  return started;
}

/** What the healthy node has, without what is another chain's: hashes of blocks. */
const honest = async (from: Hex, to: Hex) =>
  (await node.rpc<Fields[]>("eth_getLogs", [{ fromBlock: from, toBlock: to, topics: [transferTopic] }])).map(part);
const part = ({ address, topics, data, blockNumber, logIndex, transactionHash }: Fields) => ({
  ...{ address, topics, data, blockNumber, logIndex, transactionHash },
});

/** As Ponder follows a chain: each block, and its logs unless its filter of bits leaves them out. */
async function followed(chain: RpcGateway, from: Hex, to: Hex): Promise<Fields[]> {
  const logs: Fields[] = [];
  for (let number = Number(from); number <= Number(to); number += 1) {
    const block = (await chain.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, true])) as Fields;
    const found = (await chain.request("eth_getLogs", [{ blockHash: block["hash"] }])) as Fields[];
    // What Ponder stops at: it believes an empty list only where the filter is zeros.
    if (found.length === 0) expect(block["logsBloom"]).toBe(zeroBloom);
    logs.push(...found);
  }
  return logs.map(part);
}

test.each([
  ["proofs", "zeros", zeroBloom, 1],
  ["proofs", "zeros", zeroBloom, 2],
  ["proofs", "ones", fullBloom, 2],
  ["logs", "zeros", zeroBloom, 1],
  ["logs", "zeros", zeroBloom, 2],
  ["logs", "ones", fullBloom, 1],
  ["logs", "ones", fullBloom, 2],
] as const)("%s: a chain whose filters are %s is indexed with all its logs (%#)", async (mode, _, bloom, endpoints) => {
  const nodes = await Promise.all(Array.from({ length: endpoints }, () => odd({ bloom })));
  const range = [{ fromBlock: "0x0", toBlock: head, topics: [transferTopic] }];
  const chain = await gateway(mode, ...nodes);
  const expected = await honest("0x0", head);
  expect(expected).toHaveLength(4);
  expect(await followed(chain, "0x0", head)).toEqual(expected);
  expect(((await chain.request("eth_getLogs", range)) as Fields[]).map(part)).toEqual(expected);
  expect(chain.unproven()).toEqual(["blooms"]);
  expect(lines.filter((line) => line.includes("logsBloom of this chain"))).toHaveLength(1);
});

test("proofs: the receipts of a block whose filter is zeros are asked for only until the chain's filters have proved right", async () => {
  const plain = await odd({});
  const chain = await gateway("proofs", plain);
  await followed(chain, quiet, quiet);
  expect(plain.asked.filter((method) => method === "eth_getBlockReceipts")).toHaveLength(1);
  await followed(chain, busy, head);
  // Of the two blocks with logs.
  expect(plain.asked.filter((method) => method === "eth_getBlockReceipts")).toHaveLength(3);
  expect(chain.unproven()).toEqual([]);
});

test("logs: on a chain that uses its filters one endpoint of two cannot add logs to a block", async () => {
  const invented = (result: unknown) =>
    (result as Fields[]).length > 0 ? result : [{ ...logOf(quiet), blockHash: hash }];
  let hash: unknown;
  const liar = await odd({ answer: (method, _, result) => (method === "eth_getLogs" ? invented(result) : result) });
  const chain = await gateway("logs", liar, await odd({}));
  ({ hash } = (await chain.request("eth_getBlockByNumber", [quiet, false])) as Fields);
  expect(await followed(chain, busy, quiet)).toEqual(await honest(busy, quiet));
  expect(chain.unproven()).toEqual([]);
});

test("logs: where filters say nothing a hole in one endpoint's logs is not taken in, and the others decide", async () => {
  const short = await odd({
    bloom: zeroBloom,
    answer: (method, _, result) => (method === "eth_getLogs" ? (result as Fields[]).slice(0, -1) : result),
  });
  const [whole, other] = [await odd({ bloom: zeroBloom }), await odd({ bloom: zeroBloom })];
  const two = await gateway("logs", short, whole);
  await expect(followed(two, busy, busy)).rejects.toThrow(/different logs of block.*RPC_URL_GOERLI/);
  const three = await gateway("logs", short, whole, other);
  expect(await followed(three, "0x0", head)).toEqual(await honest("0x0", head));
});

const logOf = (blockNumber: Hex) => ({
  address: `0x${"11".repeat(20)}`,
  topics: [transferTopic, word(0n), word(7n), word(99n)],
  data: "0x",
  blockNumber,
  logIndex: "0x0",
  transactionHash: word(1n),
  transactionIndex: "0x0",
  removed: false,
});
