import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, expect, test, vi } from "vitest";
import type { Chain } from "../../src/chains.ts";
import { sendRpc } from "../../src/indexing/json-rpc.ts";
import type { AnswerClass } from "../../src/rpc/answers.ts";
import { createRpcClients } from "../../src/rpc/clients.ts";
import { NodeFault, openEndpoint, type RpcCall } from "../../src/rpc/endpoint.ts";
import { openNodes } from "../../src/rpc/nodes.ts";

const chain = { id: 80_002, name: "amoy" } as Chain;
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

interface Question {
  id: number;
  method: string;
  params?: unknown[];
}

/** A node that answers each call with its own parameter, but for what the test lets it do with lists of calls. */
async function startNode(onList?: (answers: object[], response: ServerResponse) => object | undefined) {
  const seen: { length: number | null; authorization: string | undefined }[] = [];
  const answer = ({ id, method, params = [] }: Question) => ({
    ...{ jsonrpc: "2.0", id },
    ...(params[0] === "refused"
      ? { error: { code: 3, message: "reverted" } }
      : { result: method === "eth_chainId" ? "0x13882" : (params[0] ?? "0x1") }),
  });
  const server = createServer(async (request: IncomingMessage, response) => {
    const asked = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Question | Question[];
    const { authorization } = request.headers;
    seen.push({ length: Array.isArray(asked) ? asked.length : null, authorization });
    const answers = Array.isArray(asked) ? asked.map(answer) : answer(asked);
    const given = Array.isArray(answers) && onList ? onList(answers, response) : answers;
    if (given) response.setHeader("content-type", "application/json").end(JSON.stringify(given));
  });
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { seen, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const values = ["0x5", "refused", "0x7", "0x8", "0x9", "0xa", "0xb"];
const calls: RpcCall[] = values.map((value) => ({ method: "eth_getBalance", params: [value] }));
const results = values.map((value) =>
  value === "refused" ? { error: { code: 3, message: "reverted", data: undefined } } : { result: value },
);

const asError = (code: number) => ({ jsonrpc: "2.0", id: null, error: { code, message: "no batches" } });
/** How endpoints answer a list that is too long for them. */
const refusals: Record<string, (answers: object[], response: ServerResponse) => object | undefined> = {
  "one error instead of a list": () => asError(-32_600),
  "a list of one error": () => [asError(-32_600)],
  "a list of errors, the chain's id among them": (answers) => answers.map((_, id) => ({ ...asError(-32_005), id })),
  "the first answer alone": (answers) => answers.slice(0, 1),
  "an empty list": () => [],
  "a status": (_, response) => void response.writeHead(405).end("Method Not Allowed"),
  "a status and an error": (_, response) => void response.writeHead(400).end(JSON.stringify(asError(-32_700))),
  "forbidding them": (_, response) => void response.writeHead(403).end("Forbidden"),
  "a breakdown": (_, response) => void response.writeHead(500).end("<html>"),
};

for (const [kind, refuse] of Object.entries(refusals)) {
  test(`an endpoint that answers lists by ${kind} is asked one call at a time`, async () => {
    const { seen, host } = await startNode(refuse);
    const endpoint = openEndpoint(`http://${host}`, chain);
    expect(await endpoint.ask(calls)).toEqual(results);
    expect(endpoint.mostCalls).toBe(1);
    // Known from then on.
    seen.length = 0;
    expect(await endpoint.ask(calls)).toEqual(results);
    expect(seen.map(({ length }) => length)).toEqual(Array(calls.length + 1).fill(null));
  });

  test(`an endpoint that takes three calls, and answers more by ${kind}, gets lists of three`, async () => {
    const { seen, host } = await startNode((answers, response) =>
      answers.length > 3 ? refuse(answers, response) : answers,
    );
    const endpoint = openEndpoint(`http://${host}`, chain);
    expect(await endpoint.ask(calls)).toEqual(results);
    expect(endpoint.mostCalls).toBe(3);
    seen.length = 0;
    expect(await endpoint.ask(calls)).toEqual(results);
    expect(seen.map(({ length }) => length)).toEqual([3, 3, 3, 2]);
  });
}

test("one garbled list costs ten seconds of single calls; an endpoint that takes none is tried less and less often", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    let refusing = true;
    const { seen, host } = await startNode((answers) => (refusing ? answers.slice(0, 1) : answers));
    const endpoint = openEndpoint(`http://${host}`, chain);
    /** Whether a list is tried after so many seconds. */
    const triesAfter = async (seconds: number) => {
      vi.advanceTimersByTime(seconds * 1_000);
      seen.length = 0;
      expect(await endpoint.ask(calls)).toEqual(results);
      return seen.some(({ length }) => length !== null);
    };
    expect(await triesAfter(0)).toBe(true);
    expect(await triesAfter(9)).toBe(false);
    expect(await triesAfter(2)).toBe(true);
    expect(await triesAfter(11)).toBe(false);
    expect(await triesAfter(10)).toBe(true);
    // Ten minutes at most.
    for (let hours = 0; hours < 10; hours += 1) expect(await triesAfter(3_600)).toBe(true);
    expect(await triesAfter(590)).toBe(false);
    refusing = false;
    expect(await triesAfter(20)).toBe(true);
    expect(endpoint.mostCalls).toBe(Number.POSITIVE_INFINITY);
    // It has taken one: the next fault is a first one.
    refusing = true;
    expect(await triesAfter(0)).toBe(true);
    refusing = false;
    expect(await triesAfter(11)).toBe(true);
    expect(endpoint.mostCalls).toBe(Number.POSITIVE_INFINITY);
  } finally {
    vi.useRealTimers();
  }
});

test("a list is not cut up where a single call is answered no better", async () => {
  for (const answer of [
    { status: 200, body: "<html>" },
    { status: 429, body: "" },
    { status: 403, body: "no key" },
  ]) {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.writeHead(answer.status).end(answer.body);
    });
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(openEndpoint(url, chain).ask(calls)).rejects.toThrow(NodeFault);
    expect(asked).toBeLessThanOrEqual(2);
  }
});

/** How providers refuse the server, and not the question. */
const providerRefusals: [AnswerClass, number, object][] = [
  ["quota_ended", 400, { jsonrpc: "2.0", id: 1, error: { code: 429, message: "Monthly capacity limit exceeded." } }],
  ["quota_ended", 200, { jsonrpc: "2.0", id: 1, error: { code: -32_005, message: "daily request count exceeded" } }],
  ["key_refused", 200, { jsonrpc: "2.0", id: 1, error: { code: -32_600, message: "Must be authenticated!" } }],
  ["key_refused", 403, { message: "Forbidden" }],
  [
    "quota_ended",
    403,
    {
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32_600, message: "Monthly capacity limit exceeded. Visit the dashboard" },
    },
  ],
  [
    "rate_limited",
    200,
    { jsonrpc: "2.0", id: 1, error: { code: -32_007, message: "50/second request limit reached" } },
  ],
];
test.each(providerRefusals)(
  "relay: %s by %i %j is no answer, and the next endpoint has one",
  async (kind, status, body) => {
    let refusing = false;
    const ask = async (refuses: boolean) => {
      const seen: Question[][] = [];
      const block = { number: "0x0", hash: `0x${"a".repeat(64)}`, parentHash: `0x${"0".repeat(64)}`, gasLimit: "0x1" };
      const answer = ({ id, method }: Question) => {
        const result = method === "eth_chainId" ? "0x13882" : method === "eth_getBalance" ? "0x5" : block;
        return { jsonrpc: "2.0", id, result };
      };
      const server = createServer(async (request: IncomingMessage, response) => {
        const asked = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Question | Question[];
        seen.push([asked].flat());
        const isRefused = refuses && refusing;
        const given = isRefused ? body : Array.isArray(asked) ? asked.map(answer) : answer(asked);
        response.writeHead(isRefused ? status : 200).end(JSON.stringify(given));
      });
      servers.push(server);
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
      return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    };
    const [first, second] = [await ask(true), await ask(false)];
    const nodes = openNodes({
      ...chain,
      rpcUrls: [first.url, second.url],
      relay: { genesisHash: null },
    } as unknown as Chain);
    const balance = () => nodes.first(async (node) => (await node.ask([{ method: "eth_getBalance", params: [] }]))[0]);
    expect(await balance()).toEqual({ result: "0x5" });
    expect(second.seen).toEqual([]);
    refusing = true;
    expect(await balance()).toEqual({ result: "0x5" });
    first.seen.length = 0;
    expect(await balance()).toEqual({ result: "0x5" });
    // A rate is over in a moment.
    expect(first.seen.length > 0).toBe(kind === "rate_limited");
    const direct = openEndpoint(first.url, chain).ask([{ method: "eth_getBalance", params: [] }]);
    await expect(direct).rejects.toMatchObject({ name: "NodeFault", kind });
  },
);

test("what a key may not ask for alone is an error among answers, and the others count", async () => {
  const words = "project ID does not have access to this method";
  const { host } = await startNode((answers) =>
    answers.map((answer, at) =>
      at === 2 ? { ...asError(-32_002), id: at, error: { code: -32_002, message: words } } : answer,
    ),
  );
  const answers = await openEndpoint(`http://${host}`, chain).ask(calls);
  expect(answers[1]).toMatchObject({ error: { message: words } });
  expect(answers.toSpliced(1, 1)).toEqual(results.toSpliced(1, 1));
});

test("calls of another chain's node are no answers, in a list or alone", async () => {
  for (const onList of [undefined, () => asError(-32_600)]) {
    const { host } = await startNode(onList);
    const asked = openEndpoint(`http://${host}`, { ...chain, id: 1 }).ask(calls);
    await expect(asked).rejects.toThrow("answered for chain 80002, not 1");
  }
});

test("a user and a password in an endpoint's URL reach it from relay, indexer and viem", async () => {
  const { seen, host } = await startNode();
  for (const [written, sent] of [
    ["user:pass", "user:pass"],
    ["k%40y:p%C3%A4ss%3A%2F", "k@y:päss:/"],
    ["key:", "key:"],
    ["user:100%", "user:100%"],
  ]) {
    const url = `http://${written}@${host}/v1/x`;
    seen.length = 0;
    expect(await openEndpoint(url, chain).ask(calls)).toEqual(results);
    const limits = { timeoutMs: 10_000, maxAnswerBytes: 1_000 };
    expect(await sendRpc(url, "eth_getBalance", ["0x5"], limits)).toMatchObject({ result: "0x5" });
    const client = createRpcClients()({ ...chain, rpcUrls: [url] } as unknown as Chain);
    expect(await client.getChainId()).toBe(chain.id);
    const wanted = `Basic ${Buffer.from(sent ?? "").toString("base64")}`;
    expect(seen.map(({ authorization }) => authorization)).toEqual([wanted, wanted, wanted]);
  }
});
