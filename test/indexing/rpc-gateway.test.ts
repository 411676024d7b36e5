import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, expect, test } from "vitest";
import { startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { SharedWork } from "../../src/indexing/shared-work.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { patient, wait } from "../setup/wait.ts";

const log = createLogger("test", "silent");
const chain = {
  name: "goerli",
  id: 31337,
  verification: "off",
  requestsPerSecond: 0,
  lagTimeoutMs: 0,
  local: false,
} as const;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Answer = Record<string, unknown> | string;
interface Node {
  url: string;
  asked: { method: string; params: unknown[] }[];
  status: number;
  chainId: string;
  close(): Promise<void>;
}

/** A node that answers as it is set to. */
async function node(answer: (method: string, params: unknown[]) => Answer, chainId = "0x7a69"): Promise<Node> {
  const asked: Node["asked"] = [];
  const self = { asked, status: 200, chainId } as Node;
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id: number;
      method: string;
      params: unknown[];
    };
    asked.push({ method, params });
    const own = await answer(method, params);
    // A node of logs has all blocks.
    const isHead = method === "eth_blockNumber" && typeof own === "object" && Array.isArray(own["result"]);
    const said = method === "eth_chainId" ? { result: self.chainId } : isHead ? { result: "0xffff" } : own;
    response
      .writeHead(self.status)
      .end(typeof said === "string" ? said : JSON.stringify({ jsonrpc: "2.0", id, ...said }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  self.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  self.close = () =>
    new Promise((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  closing.push(self.close);
  return self;
}

async function gateway(...nodes: Node[]) {
  const started = await startRpcGateway(
    chain,
    nodes.map(({ url }) => url),
    log,
  );
  closing.push(started.close);
  return started;
}

async function post(
  url: string,
  method: string,
  params: unknown[] = [],
): Promise<{ status: number; body: Record<string, unknown> }> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });
  const response = await fetch(url, { method: "POST", body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const erc20 = { topics: [transfer, "0x1", "0x2"] };
const erc721 = { topics: [transfer, "0x1", "0x2", "0x3"] };
const other = { topics: ["0xabcd"] };

test("ERC-20 transfers are asked away of the node and dropped from what it still sends", async () => {
  const upstream = await node(() => ({ result: [erc20, erc721, other] }));
  const { url } = await gateway(upstream);
  const range = { fromBlock: "0x1", toBlock: "0x2", topics: [transfer] };
  expect((await post(url, "eth_getLogs", [range])).body).toEqual({ jsonrpc: "2.0", id: 7, result: [erc721, other] });
  expect(upstream.asked.at(-1)?.params).toEqual([{ ...range, topics: [transfer, null, null, null] }]);
});

test("a block with nothing but noise keeps one log, a range none", async () => {
  const { url } = await gateway(await node(() => ({ result: [erc20, erc20] })));
  expect((await post(url, "eth_getLogs", [{ blockHash: "0xaa" }])).body["result"]).toEqual([erc20]);
  expect((await post(url, "eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x2" }])).body["result"]).toEqual([]);
});

const failures: [string, (node: Node) => unknown][] = [
  ["is overloaded", (node) => Object.assign(node, { status: 429 })],
  ["breaks down", (node) => Object.assign(node, { status: 502 })],
  ["is gone", (node) => node.close()],
];
test.each(failures)("when the first node %s the second answers", async (_, fail) => {
  const first = await node(() => ({ result: "first" }));
  const { url } = await gateway(first, await node(() => ({ result: "second" })));
  expect((await post(url, "eth_blockNumber")).body["result"]).toBe("first");
  await fail(first);
  expect((await post(url, "eth_blockNumber")).body["result"]).toBe("second");
});

const range = { fromBlock: "0x10", toBlock: "0x20" };
/** What says something of the node, and how it comes: the second node has the answer. */
const refusals: [string, Answer, number?][] = [
  ["a rate", { error: { code: -32007, message: "50/second request limit reached" } }],
  ["a daily quota", { error: { code: -32005, message: "daily request count exceeded, request rate limited" } }],
  ["a monthly quota with its status", { error: { code: 429, message: "Monthly capacity limit exceeded." } }, 400],
  ["a key", { error: { code: -32600, message: "Must be authenticated!" } }, 401],
  ["a key by its status", "<html>Forbidden</html>", 403],
  ["a breakdown in the body", { error: { code: -32603, message: "Internal error" } }],
  ["a text for an error", { error: "upstream connect error" }, 503],
  ["a block that it has not yet", { error: { code: -32000, message: "header not found" } }],
  ["a block that it does not know", { error: { code: -32000, message: "unknown block" } }],
  ["state that it has no more", { error: { code: -32000, message: "missing trie node 5f (path ) <nil>" } }],
  ["a method that it has not", { error: { code: -32601, message: "the method does not exist/is not available" } }],
  ["its own narrow range", { error: { code: -32614, message: "eth_getLogs is limited to a 5 range" } }, 413],
  ["nothing", "", 200],
];
test.each(refusals)("when the first node answers with %s the second is asked", async (_, refusal, status = 200) => {
  const first = await node(() => refusal);
  const second = await node(() => ({ result: [other] }));
  const { url } = await gateway(first, second);
  first.status = status;
  expect((await post(url, "eth_getLogs", [range])).body).toEqual({ jsonrpc: "2.0", id: 7, result: [other] });
});

test("a node whose quota has ended or that refuses the key is not asked again for long", async () => {
  const first = await node(() => ({ error: { code: -32005, message: "daily request count exceeded" } }));
  const { url, refusals: counted } = await gateway(first, await node(() => ({ result: "0x5" })));
  for (let times = 0; times < 5; times += 1) await post(url, "eth_blockNumber");
  expect(first.asked.map(({ method }) => method)).toEqual(["eth_chainId", "eth_blockNumber"]);
  expect([...counted]).toEqual([["eth_blockNumber: quota_ended", 1]]);
});

test("where every node wants a smaller range, Ponder is told one in words that it follows", async () => {
  const tooWide = ["query returns too many logs, narrow your filter: 20000", "block range too high"].map((message) =>
    node((method) => (method === "eth_getLogs" ? { error: { code: -32000, message } } : { result: "0xffff" })),
  );
  const { url } = await gateway(...(await Promise.all(tooWide)));
  const { code, message } = (await post(url, "eth_getLogs", [range])).body["error"] as {
    code: number;
    message: string;
  };
  expect(code).toBe(-32005);
  expect(message).toBe("query exceeds max results");
});

test("a range that takes a node too long is asked in halves, by the next node", async () => {
  const slow = await node(() => new Promise(() => undefined) as never);
  const quick = await node(() => ({ result: [other] }));
  const started = await startRpcGateway(chain, [slow.url, quick.url], log, {
    timeoutMs: 2_000,
    maxAnswerBytes: 10_000,
  });
  closing.push(started.close);
  const { error } = (await post(started.url, "eth_getLogs", [range])).body;
  expect((error as { message: string }).message).toBe("query exceeds max results");
  expect((await post(started.url, "eth_getLogs", [{ ...range, toBlock: "0x18" }])).body["result"]).toEqual([other]);
});

test("logs of a range come from a node that has its last block, and from none while none has it", async () => {
  const heads = { behind: "0x1f", ahead: "0x1f" };
  const at = (name: keyof typeof heads, result: unknown[]) =>
    node((method) => ({ result: method === "eth_blockNumber" ? heads[name] : result }));
  const [behind, ahead] = [await at("behind", []), await at("ahead", [other])];
  const { url } = await gateway(behind, ahead);
  expect((await post(url, "eth_getLogs", [range])).status).toBe(503);
  heads.ahead = "0x20";
  expect((await post(url, "eth_getLogs", [range])).body["result"]).toEqual([other]);
  // The next answer may be of another backend, which has less.
  heads.ahead = "0x1f";
  expect((await post(url, "eth_getLogs", [range])).status).toBe(503);
  // What it has said is enough for what lies far before.
  heads.ahead = "0x1000";
  expect((await post(url, "eth_getLogs", [range])).body["result"]).toEqual([other]);
  const asked = ahead.asked.length;
  heads.ahead = "0x0";
  await post(url, "eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x20" }]);
  expect(ahead.asked.slice(asked).map(({ method }) => method)).toEqual(["eth_getLogs"]);
  expect(behind.asked.filter(({ method }) => method === "eth_getLogs")).toEqual([]);
});

test("a node without eth_getBlockReceipts has no fault; one without eth_getLogs has", async () => {
  const missing = { error: { code: -32_601, message: "the method does not exist" } };
  const lacking = await node((method) => (/Receipts|getLogs/.test(method) ? missing : { result: "0x20" }));
  const { url, health } = await gateway(lacking);
  expect((await post(url, "eth_getBlockReceipts", ["0x1"])).body["error"]).toMatchObject({ code: -32_601 });
  expect(health()[0]).toMatchObject({ state: "used", fault: null });
  await post(url, "eth_getLogs", [range]);
  expect(health()[0]?.fault).toMatchObject({ class: "unsupported", words: "the method does not exist" });
});

test("a refusal by every node is the answer, with the words of all", async () => {
  const nodes = ["missing trie node 5f", "required historical state unavailable"].map((message) =>
    node(() => ({ error: { code: -32000, message } })),
  );
  const { url } = await gateway(...(await Promise.all(nodes)));
  expect((await post(url, "eth_getTransactionReceipt", ["0xaa"])).body["error"]).toEqual({
    code: -32000,
    message: "missing trie node 5f; required historical state unavailable",
  });
});

test("no usable answer from any node is a 503 without their addresses", async () => {
  const { url } = await gateway(await node(() => "<html>busy</html>"));
  const { status, body } = await post(url, "eth_blockNumber");
  expect(status).toBe(503);
  expect(JSON.stringify(body)).not.toContain("127.0.0.1");
});

test("a node of another chain keeps the gateway from starting, also beside a right one", async () => {
  const nodes = await Promise.all([node(() => ({ result: 1 })), node(() => ({ result: 1 }), "0x1")]);
  await expect(gateway(...nodes)).rejects.toThrow(/serves chain id 1, but goerli is configured as 31337/);
});

test("a node that comes back as another chain is not asked any more", async () => {
  const fickle = await node(() => ({ result: "fickle" }));
  const steady = await node(() => ({ result: "steady" }));
  const { url } = await gateway(fickle, steady);
  fickle.status = 502;
  await post(url, "eth_blockNumber");
  Object.assign(fickle, { status: 200, chainId: "0x1" });
  const asked = fickle.asked.length;
  const checkedAgain = () => fickle.asked.length > asked;
  await wait("a second look", async () => {
    expect((await post(url, "eth_blockNumber")).body["result"]).toBe("steady");
    return checkedAgain();
  });
  expect(fickle.asked.slice(asked).map(({ method }) => method)).toEqual(["eth_chainId"]);
});

test("only what an indexer asks is let through", async () => {
  const upstream = await node(() => ({ result: "0x" }));
  const { url } = await gateway(upstream);
  expect((await post(url, "eth_sendRawTransaction", ["0x00"])).body["error"]).toMatchObject({ code: -32601 });
  expect(upstream.asked.map(({ method }) => method)).toEqual(["eth_chainId"]);
});

test("an answer beyond the cap becomes the advice to ask for half the range", async () => {
  const { url: flood } = await node(() => `{"result":"${"x".repeat(1_000_000)}"}`);
  const { url, close } = await startRpcGateway(chain, [flood], log, { timeoutMs: 60_000, maxAnswerBytes: 1_000_000 });
  closing.push(close);
  const { body } = await post(url, "eth_getLogs", [{ fromBlock: "0x10", toBlock: "0x20" }]);
  // Words after which Ponder asks for half, and for more again later; a range that is named it would keep.
  expect(body["error"]).toMatchObject({ code: -32_005, message: "query exceeds max results" });
});

test("a node that is away is asked rarely, warned of once, and used again as soon as it is back", async () => {
  const lines: string[] = [];
  const listening = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const upstream = await node(() => ({ result: "0x10" }));
  const started = await startRpcGateway(chain, [upstream.url], listening);
  closing.push(started.close);
  upstream.status = 503;
  const before = upstream.asked.length;
  const begun = performance.now();
  // As Ponder does: what failed is asked again at once.
  while (performance.now() - begun < 2_200) await post(started.url, "eth_blockNumber");
  const askedWhileAway = () => upstream.asked.length - before;
  const early = askedWhileAway();
  const end = performance.now() + 1_200;
  while (performance.now() < end) await post(started.url, "eth_blockNumber");
  expect(askedWhileAway() - early).toBeLessThanOrEqual(2 * 3);
  expect(lines.filter((line) => line.includes("RPC endpoint skipped")).length).toBeLessThanOrEqual(2);
  expect(lines.filter((line) => line.includes("RPC request failed")).length).toBeLessThanOrEqual(2);
  upstream.status = 200;
  expect(await post(started.url, "eth_blockNumber")).toMatchObject({ status: 200, body: { result: "0x10" } });
  expect(lines.filter((line) => line.includes("answers again"))).toHaveLength(1);
});

/** A node that holds all answers but those about itself, until it is told to give them. */
async function holdingNode() {
  const open = Promise.withResolvers<void>();
  let waiting = 0;
  let left = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString());
    const answer = () => response.end(JSON.stringify({ jsonrpc: "2.0", id, result: params[0] ?? "0x7a69" }));
    if (method === "eth_chainId" || params[0] === "0xnow") return answer();
    waiting += 1;
    response.once("close", () => {
      if (!response.writableFinished) left += 1;
    });
    await open.promise;
    answer();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(async () => {
    open.resolve();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: open.resolve,
    /** Questions that came and were held, and those of them whose asker has left. */
    held: () => ({ waiting, left }),
  };
}

test("what its client has given up is asked no more, and a new question waits for none of it", async () => {
  const slow = await holdingNode();
  // Long: on a busy machine the first are held while the last are not asked yet.
  const started = await startRpcGateway(chain, [slow.url], log, { timeoutMs: 900_000, maxAnswerBytes: 1_000_000 });
  closing.push(started.close);
  const giveUp = new AbortController();
  const body = (key: string) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBlockByHash", params: [key] });
  const abandoned = Array.from({ length: 200 }, (_, index) =>
    fetch(started.url, { method: "POST", body: body(`0x${index}`), signal: giveUp.signal }).catch(() => "gave up"),
  );
  await expect.poll(() => started.activity().running, patient).toBe(200);
  await expect.poll(slow.held, patient).toEqual({ waiting: 64, left: 0 });
  giveUp.abort();
  expect(new Set(await Promise.all(abandoned))).toEqual(new Set(["gave up"]));
  const answer = await fetch(started.url, { method: "POST", body: body("0xnow") });
  expect(await answer.json()).toMatchObject({ result: "0xnow" });
  await expect.poll(slow.held, patient).toEqual({ waiting: 64, left: 64 });
  await expect.poll(() => started.activity().running, patient).toBe(0);
});

test("a limited node's turns are for those who still wait", async () => {
  const slow = await holdingNode();
  slow.open();
  const started = await startRpcGateway({ ...chain, requestsPerSecond: 1 }, [slow.url], log);
  closing.push(started.close);
  const giveUp = new AbortController();
  const ask = (key: string, signal?: AbortSignal) =>
    fetch(started.url, {
      method: "POST",
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getBlockByHash", params: [key] }),
      ...(signal ? { signal } : {}),
    });
  await ask("0xfirst");
  let served = 0;
  const abandoned = Array.from({ length: 60 }, async (_, index) => {
    await ask(`0x${index}`, giveUp.signal).then(
      () => (served += 1),
      () => "gave up",
    );
  });
  // On a busy machine some have their turn before the last one has come.
  await expect.poll(() => started.activity().running + served, patient).toBeGreaterThanOrEqual(60);
  giveUp.abort();
  await Promise.all(abandoned);
  expect(await (await ask("0xlast")).json()).toMatchObject({ result: "0xlast" });
  // Those 60 turns would have taken a minute.
  expect(slow.held().waiting).toBeLessThan(10 + served);
});

test("shared work goes on when all have left, is found by who asks again, and ends when nobody does", async () => {
  const shared = new SharedWork<string>(50);
  const first = Promise.withResolvers<string>();
  const leaver = new AbortController();
  let begun = 0;
  const work = () => {
    begun += 1;
    return first.promise;
  };
  const left = shared.join("a", work, leaver.signal);
  const stayed = shared.join("a", work);
  leaver.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  first.resolve("done");
  expect([await stayed, begun]).toEqual(["done", 1]);

  const alone = new AbortController();
  const ended = Promise.withResolvers<void>();
  const second = Promise.withResolvers<string>();
  const gaveUp = shared.join(
    "b",
    (signal) => {
      signal.addEventListener("abort", () => ended.resolve());
      return second.promise;
    },
    alone.signal,
  );
  alone.abort(new Error("left"));
  await expect(gaveUp).rejects.toThrow("left");
  second.resolve("kept");
  expect(await shared.join("b", () => Promise.reject(new Error("asked again")))).toBe("kept");
  await ended.promise;

  const nobody = new AbortController();
  const over = Promise.withResolvers<void>();
  const lost = shared.join(
    "c",
    (signal) => {
      signal.addEventListener("abort", () => over.resolve());
      return new Promise<string>(() => undefined);
    },
    nobody.signal,
  );
  nobody.abort(new Error("left"));
  await expect(lost).rejects.toThrow("left");
  await over.promise;
});
