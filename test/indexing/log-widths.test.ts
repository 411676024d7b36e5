import { setTimeout as pause } from "node:timers/promises";
import { encodeFunctionData, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { widthIn } from "../../src/indexing/upstream.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { FaultyEndpoint, refuse } from "../products/faulty-endpoint.ts";
import { patient, slowness } from "../setup/wait.ts";
import { type Anvil, startAnvil } from "./anvil.ts";
import { hostileContract, transferTopic, word } from "./hostile-cases.ts";

interface Filter {
  fromBlock: Hex;
  toBlock: Hex;
}

let node: Anvil;
/** All transfers, by the healthy node. */
let all: { blockNumber: Hex }[];
const open: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  node = await startAnvil();
  const nft = await node.deploy(hostileContract());
  for (let id = 1n; id <= 8n; id += 1n) {
    const logs = [{ topics: [transferTopic, word(0n), word(7n), word(id)], data: "0x" }];
    await node.send(nft.address, encodeFunctionData({ abi: nft.abi, functionName: "say", args: [logs] }));
    await node.rpc("anvil_mine", ["0x64"]);
  }
  all = await node.rpc("eth_getLogs", [{ fromBlock: "0x0", toBlock: "latest", topics: [transferTopic] }]);
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});
afterAll(async () => {
  await node?.stop();
});

/** An endpoint that gives logs of so many blocks, and what it was asked. */
async function limited(most: number, words = "block range is too wide") {
  const self = { most, isDown: false, delayMs: 0, widths: [] as number[], url: "" };
  const endpoint = await FaultyEndpoint.start(node.url, {
    ask: async () => void (await pause(self.delayMs, undefined, { ref: false })),
    answer: ({ method, params = [] }, answer) => {
      if (self.isDown) return refuse(answer, { code: -32_603, message: "internal error" });
      if (method !== "eth_getLogs") return;
      const [{ fromBlock, toBlock }] = params as [Filter];
      self.widths.push(Number(toBlock) - Number(fromBlock) + 1);
      if (Number(toBlock) - Number(fromBlock) >= self.most) refuse(answer, { code: -32_000, message: words });
    },
  });
  open.push(() => endpoint.stop());
  self.url = endpoint.url;
  return self;
}

async function gateway(...nodes: { url: string }[]): Promise<RpcGateway> {
  const settings = {
    name: "goerli",
    id: 31337,
    verification: "logs",
    requestsPerSecond: 0,
    lagTimeoutMs: 0,
    local: false,
  } as const;
  const urls = nodes.map(({ url }) => url);
  const started = await startRpcGateway(settings, urls, createLogger("test", "silent"));
  open.push(started.close);
  return started;
}

async function ask({ url }: RpcGateway, from: number, to: number) {
  const filter = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}`, topics: [transferTopic] };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getLogs", params: [filter] });
  const response = await fetch(url, { method: "POST", body });
  return (await response.json()) as { result?: unknown[]; error?: { message: string } };
}

/** All transfers as Ponder collects them: less at a time when it is told to. */
async function collect(chain: RpcGateway): Promise<unknown[]> {
  const head = Number(await node.head());
  const logs: unknown[] = [];
  for (let from = 0, width = 400; from <= head; ) {
    const to = Math.min(from + width - 1, head);
    const { result, error } = await ask(chain, from, to);
    if (result) {
      logs.push(...result);
      from = to + 1;
      continue;
    }
    const [, first, last] = /this block range should work: \[(0x\w+), (0x\w+)\]/.exec(error?.message ?? "") ?? [];
    // As its chunks are counted.
    width = first && last ? Number(last) - Number(first) : Math.floor((to - from) / 2);
    expect(width, error?.message).toBeGreaterThan(0);
  }
  return logs;
}

test("an endpoint is asked for no more blocks of logs than it gives, and its width does not bind another", async () => {
  const [narrow, wide] = [await limited(10), await limited(1_000)];
  const chain = await gateway(narrow, wide);
  expect(await collect(chain)).toEqual(all);
  expect(narrow.widths.filter((width) => width > 10)).toEqual([400]);
  // Of the last two blocks, which have no logs, it is the second word.
  expect(wide.widths).toEqual([400, 400, 2]);
  expect(chain.health().map(({ blocksOfLogs }) => blocksOfLogs)).toEqual([200, null]);
});

test.each([
  // A range that is named Ponder keeps until it is started anew, so only a limit that the endpoint named is passed on as one.
  [
    "that it names",
    "eth_getLogs is limited to a 10 range",
    2,
    /^response size exceeded; this block range should work: \[/,
  ],
  ["that its refusals show", "block range is too wide", 12, /^query exceeds max results$/],
] as const)(
  "where every endpoint is narrow the index asks for the width %s, and gets all logs",
  async (_, words, mostRefused, advice) => {
    const narrow = await limited(10, words);
    const chain = await gateway(narrow);
    expect(await collect(chain)).toEqual(all);
    const refused = narrow.widths.filter((width) => width > 10).length;
    expect(refused).toBeLessThanOrEqual(mostRefused);
    const asked = narrow.widths.length;
    // Known by now: no request is spent on it.
    expect((await ask(chain, 0, 399)).error?.message).toMatch(advice);
    expect(narrow.widths).toHaveLength(asked);
  },
);

test("while the wide endpoint rests a narrow one is asked for less, and Ponder is not bound to that", async () => {
  const [wide, narrow] = [await limited(1_000), await limited(50)];
  const chain = await gateway(wide, narrow);
  wide.isDown = true;
  expect((await ask(chain, 0, 399)).error?.message).toBeDefined();
  const { error } = await ask(chain, 0, 399);
  expect(error?.message).toBe("query exceeds max results");
  // As Ponder does then.
  expect((await ask(chain, 0, 49)).result).toEqual(all.slice(0, 1));
  wide.isDown = false;
  await expect.poll(async () => (await ask(chain, 0, 399)).result?.length, patient).toBe(4);
  expect(wide.widths).toContain(400);
});

test("the width of an endpoint grows again after answers of full width", async () => {
  const narrow = await limited(10, "eth_getLogs is limited to a 10 range");
  const chain = await gateway(narrow);
  await ask(chain, 0, 399);
  narrow.most = 1_000;
  for (let count = 0; count < 31; count += 1) await ask(chain, 0, 9);
  expect((await ask(chain, 0, 19)).error).toBeDefined();
  await ask(chain, 0, 9);
  expect((await ask(chain, 0, 19)).result).toBeDefined();
  // One that is refused waits for twice as long.
  narrow.most = 10;
  for (let count = 0; count < 32; count += 1) await ask(chain, 0, 9);
  expect(chain.health()[0]?.blocksOfLogs).toBe(40);
});

/** An address behind which now and then another chain answers: it has far more blocks, and none of these logs. */
async function balancer() {
  const self = { isOther: false, url: "" };
  const other: Record<string, unknown> = { eth_chainId: "0x1", eth_blockNumber: "0x1312d00", eth_getLogs: [] };
  const endpoint = await FaultyEndpoint.start(node.url, {
    answer: ({ method }, answer) => {
      if (self.isOther) answer.result = other[method] ?? null;
    },
  });
  open.push(() => endpoint.stop());
  self.url = endpoint.url;
  return self;
}

test("an endpoint that has become another chain since it was checked makes no hole", async () => {
  const changed = await balancer();
  const head = Number(await node.head());
  const [alone, beside] = [await gateway(changed), await gateway(changed, await limited(10_000))];
  expect((await ask(alone, 0, head)).result).toEqual(all);
  expect((await ask(beside, 0, head)).result).toEqual(all);
  changed.isOther = true;
  expect((await ask(beside, 0, head)).result).toEqual(all);
  expect((await ask(alone, 0, head)).result).toBeUndefined();
  for (const chain of [alone, beside])
    expect(chain.health()[0]?.fault).toMatchObject({ words: expect.stringContaining("serves chain id 1, but goerli") });
  // Nothing of that chain is kept: neither has these blocks yet.
  changed.isOther = false;
  expect((await ask(alone, 0, head)).result).toEqual(all);
  expect((await ask(alone, head + 1, head + 50)).result).toBeUndefined();
});

/** An address that gives no logs, whatever it says of its chain and its head: the right backend answers these again. */
async function withoutLogs() {
  const self = { hasNone: true, url: "" };
  const endpoint = await FaultyEndpoint.start(node.url, {
    answer: ({ method }, answer) => {
      if (self.hasNone && method === "eth_getLogs") answer.result = [];
    },
  });
  open.push(() => endpoint.stop());
  self.url = endpoint.url;
  return self;
}

test("a range is not empty because one endpoint of several says so", async () => {
  const [wrong, right] = [await withoutLogs(), await limited(10_000)];
  const chain = await gateway(wrong, right);
  const head = Number(await node.head());
  expect((await ask(chain, 0, head)).result).toEqual(all);
  const words = expect.stringContaining("has no logs where another endpoint has some");
  expect(chain.health()[0]).toMatchObject({ state: "rests", fault: { words } });
  // It is asked last from now on.
  right.isDown = true;
  expect((await ask(chain, 0, head)).result).toBeUndefined();
  right.isDown = false;
  expect((await ask(chain, 0, head)).result).toEqual(all);
});

test("an empty range is believed of one endpoint once the other has been away for half a minute", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  open.push(async () => vi.useRealTimers());
  const [only, gone] = [await withoutLogs(), await limited(10_000)];
  const chain = await gateway(only, gone);
  const head = Number(await node.head());
  gone.isDown = true;
  expect((await ask(chain, 0, head)).result).toBeUndefined();
  vi.setSystemTime(Date.now() + 20_000);
  expect((await ask(chain, 0, head)).result).toBeUndefined();
  vi.setSystemTime(Date.now() + 20_000);
  expect((await ask(chain, 0, head)).result).toEqual([]);
});

test("an endpoint that never answers has less asked for at once, and keeps nothing back for longer than half a minute", {
  timeout: 60_000 * slowness,
}, async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  open.push(async () => vi.useRealTimers());
  const [only, hanging] = [await withoutLogs(), await limited(10_000)];
  const chain = await gateway(only, hanging);
  const head = Number(await node.head());
  hanging.delayMs = 600_000;
  expect((await ask(chain, 0, head)).error?.message).toBe("query exceeds max results");
  vi.setSystemTime(Date.now() + 40_000);
  expect((await ask(chain, 0, Math.floor(head / 4))).result).toEqual([]);
});

test("where the first endpoint used up the time the second one is not blamed, and less is asked for", {
  timeout: 60_000 * slowness,
}, async () => {
  const slow = await FaultyEndpoint.start(node.url, {
    ask: async ({ method }) => void (method === "eth_getLogs" && (await pause(8_600))),
    answer: ({ method }, answer) => {
      if (method === "eth_getLogs") answer.result = [];
    },
  });
  open.push(() => slow.stop());
  const chain = await gateway(slow, await limited(10_000));
  expect((await ask(chain, 0, Number(await node.head()))).error?.message).toBe("query exceeds max results");
  expect(chain.health()[1]).toMatchObject({ state: "used", fault: null });
});

test("an endpoint that failed once, long ago, is waited for when it fails again", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  open.push(async () => vi.useRealTimers());
  const [only, other] = [await withoutLogs(), await limited(10_000)];
  const chain = await gateway(only, other);
  const head = Number(await node.head());
  other.isDown = true;
  expect((await ask(chain, 0, head)).result).toBeUndefined();
  vi.setSystemTime(Date.now() + 3_600_000);
  expect((await ask(chain, 0, head)).result).toBeUndefined();
  other.isDown = false;
  expect((await ask(chain, 0, head)).result).toEqual(all);
});

test("an endpoint of narrower ranges is no hindrance where another says that a wide one is empty", async () => {
  const chain = await gateway(await withoutLogs(), await limited(2));
  const head = Number(await node.head());
  expect((await ask(chain, 0, head)).result).toEqual([]);
  expect((await ask(chain, head - 1, head)).result).toEqual(
    all.filter(({ blockNumber }) => Number(blockNumber) >= head - 1),
  );
});

test("two blocks that are too much together are asked for one by one", async () => {
  const chain = await gateway(await limited(1));
  const { result } = await ask(chain, 1, 2);
  expect(result).toEqual(all.filter((log) => Number((log as { blockNumber: Hex }).blockNumber) <= 2));
  expect(result).toHaveLength(1);
});

test.each([
  ["eth_getLogs is limited to a 5 range", 5n],
  ["eth_getLogs is limited to a 10,000 range", 10_000n],
  ["Block range limit exceeded: limited to 2000", 2_000n],
  ["eth_getLogs range is too large, max is 1k blocks", 1_000n],
  ["requested too many blocks from 7000 to 26999, maximum is set to 2048", 2_048n],
  ["block range too large, range: 20000, max: 10000", 10_000n],
  ["this block range should work: [0x1b58, 0x1f3f]", 1_000n],
  ["exceed maximum block range: 5000", 5_000n],
  ["query returned more than 10000 results", null],
  ["query exceeds max results 20000, retry with the range 1000-1500", null],
  ["Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range", null],
  ["block range is too wide", null],
  ["ranges over 10000 blocks are not supported, use 500 or 1000", null],
  ["limited to 50000 blocks", null],
])("the words %j name the width %s of a range of 20,000 blocks", (words, width) => {
  expect(widthIn(words, { from: 7_000n, to: 26_999n })).toBe(width);
});
