import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { type ServerSocket, WebSocketServer } from "ws";
import { startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { patient } from "../setup/wait.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const hashOf = (number: number, fork = "a") => `0x${fork}${String(number).padStart(63, "0")}`;
const blockOf = (number: number) => ({
  ...{ number: `0x${number.toString(16)}`, hash: hashOf(number), parentHash: hashOf(number - 1) },
  ...{ timestamp: "0x1", receiptsRoot: hashOf(0), logsBloom: `0x${"0".repeat(512)}`, transactions: ["0x1"] },
});

/** A development node: JSON-RPC and websocket on one port. */
async function startNode() {
  const node = { head: 1, asked: 0, announces: true };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id: number; method: string };
    if (method === "eth_getBlockByNumber") node.asked += 1;
    const result = method === "eth_chainId" ? "0x7a69" : blockOf(node.head);
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const sockets = new WebSocketServer({ server, maxPayload: 1_000 });
  let subscribed = 0;
  sockets.on("connection", (socket: ServerSocket) => {
    socket.on("message", () => {
      subscribed += 1;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, result: "0x7" }));
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(node, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    subscribed: () => subscribed,
    mine: (number: number, announced: object = blockOf(number)) => {
      node.head = number;
      const params = { subscription: "0x7", result: announced };
      const text = JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params });
      for (const socket of node.announces ? sockets.clients : []) socket.send(text);
    },
  });
}

async function watch(url: string) {
  const chain = { name: "goerli", id: 31337, verification: "logs", requestsPerSecond: 0, lagTimeoutMs: 0 } as const;
  const gateway = await startRpcGateway({ ...chain, local: true }, [url], createLogger("test", "silent"));
  closing.push(gateway.close);
  gateway.heads.start();
  // As Ponder subscribes.
  const socket = new WebSocket(gateway.wsUrl);
  const announced: { hash: string; transactions?: unknown }[] = [];
  socket.addEventListener("open", () =>
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] })),
  );
  socket.addEventListener("message", ({ data }) => {
    const { params } = JSON.parse(String(data));
    if (params) announced.push(params.result);
  });
  closing.push(() => socket.close());
  return { announced, latest: () => announced.at(-1)?.hash };
}

test("a node's announcement is the reason to ask, and what is checked is announced to Ponder, without transactions", async () => {
  const node = await startNode();
  const { announced, latest } = await watch(node.url);
  await expect.poll(node.subscribed, patient).toBe(1);
  await expect.poll(latest, patient).toBe(hashOf(1));
  node.mine(2, { ...blockOf(2), hash: hashOf(2, "f") });
  await expect.poll(latest, patient).toBe(hashOf(2));
  expect(announced.map(({ hash }) => hash)).not.toContain(hashOf(2, "f"));
  expect(announced.every(({ transactions }) => transactions === undefined)).toBe(true);
});

test("a head is announced again, since Ponder may have taken in a part of what leads to it; its node is hardly asked", async () => {
  const node = await startNode();
  const { announced, latest } = await watch(node.url);
  await expect.poll(node.subscribed, patient).toBe(1);
  await expect.poll(latest, patient).toBe(hashOf(1));
  const before = { announced: announced.length, asked: node.asked, at: performance.now() };
  await expect.poll(() => announced.length, patient).toBeGreaterThan(before.announced + 3);
  // As often as a node without a websocket would have been asked.
  const polls = (performance.now() - before.at) / 100;
  expect(node.asked - before.asked).toBeLessThan(polls / 4);
});

test("a websocket that dies without a word is noticed and opened anew, and no block is lost", async () => {
  const node = await startNode();
  const { latest } = await watch(node.url);
  await expect.poll(node.subscribed, patient).toBe(1);
  node.announces = false;
  for (const number of [2, 3]) {
    node.mine(number);
    await expect.poll(latest, patient).toBe(hashOf(number));
  }
  await expect.poll(node.subscribed, patient).toBe(2);
  node.announces = true;
  node.mine(4);
  await expect.poll(latest, patient).toBe(hashOf(4));
}, 60_000);
