import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Block = Record<string, unknown> & { hash: string; number: string };
type Receipt = Record<string, unknown> & { logs: Record<string, unknown>[] };
interface Request {
  method: string;
  params: unknown[];
}

/** Stands before a node and answers wrongly at random, the same faults for the same seed and requests. */
export async function startFaultyRpcProxy(target: string, otherChain: string, random: (below: number) => number) {
  const injected = new Map<string, number>();
  let oneIn = 0;
  let asked = 0;
  const ask = async (url: string, { method, params }: Request): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    return response.json();
  };
  const faults = receiptFaults(random);

  async function answer(request: Request): Promise<unknown> {
    asked += 1;
    const isFaulty = oneIn > 0 && random(oneIn) === 0;
    const honest = (await ask(target, request)) as { result?: unknown };
    if (!isFaulty || !honest.result) return honest;
    const { name, result } = await invent(request, honest.result);
    if (name === null) return honest;
    injected.set(name, (injected.get(name) ?? 0) + 1);
    return { jsonrpc: "2.0", id: 1, result };
  }

  async function invent(request: Request, result: unknown): Promise<{ name: string | null; result: unknown }> {
    const common = [
      { name: "null", make: () => null },
      { name: "HTML", make: () => html },
      {
        name: "other chain",
        make: async () => ((await ask(otherChain, request)) as { result?: unknown }).result ?? null,
      },
    ];
    const own = Array.isArray(result) ? faults(result as Receipt[]) : await blockFaults(request, result as Block);
    const all = [...own, ...common];
    const chosen = all[random(all.length)];
    if (!chosen) return { name: null, result };
    const said = await chosen.make();
    return JSON.stringify(said) === JSON.stringify(result)
      ? { name: null, result }
      : { name: chosen.name, result: said };
  }

  async function blockFaults({ params }: Request, block: Block) {
    if (typeof block !== "object") return [];
    const at = BigInt(block.number);
    const sibling = async (distance: bigint) =>
      (
        (await ask(target, {
          method: "eth_getBlockByNumber",
          params: [`0x${(at > distance ? at - distance : 0n).toString(16)}`, params[1]],
        })) as { result: unknown }
      ).result;
    const faults = [
      { name: "wrong hash", make: () => ({ ...block, hash: `0x${"ab".repeat(32)}` }) },
      { name: "empty bloom", make: () => ({ ...block, logsBloom: `0x${"0".repeat(512)}`, receiptsRoot: block.hash }) },
      { name: "sibling block", make: () => sibling(1n) },
      { name: "no transactions", make: () => ({ ...block, transactions: [] }) },
    ];
    if (params[0] !== "latest") return faults;
    return [
      ...faults,
      { name: "stale head", make: () => sibling(BigInt(2 + random(20))) },
      { name: "future head", make: () => ({ ...block, number: `0x${(at + 1_000n).toString(16)}` }) },
    ];
  }

  const server = createServer((request, response) => {
    // The indexer tries each node for a websocket; this one has none.
    if (request.method !== "POST") return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      answer(JSON.parse(Buffer.concat(chunks).toString()) as Request).then(
        (said) => send(response, said),
        () => response.destroy(),
      );
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    injected,
    count: () => [...injected.values()].reduce((sum, count) => sum + count, 0),
    asked: () => asked,
    /** 0: honest. */
    faultOneIn: (requests: number) => {
      oneIn = requests;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const html = "<html><body>502 Bad Gateway</body></html>";

function send(response: ServerResponse, said: unknown): void {
  const isHtml = (said as { result?: unknown }).result === html;
  response.writeHead(200, { "content-type": isHtml ? "text/html" : "application/json" });
  response.end(isHtml ? html : JSON.stringify(said));
}

function receiptFaults(random: (below: number) => number) {
  return (receipts: Receipt[]) => {
    const busy = receipts.findIndex(({ logs }) => logs?.length > 0);
    const change = (name: string, edit: (logs: Record<string, unknown>[]) => unknown[]) => ({
      name,
      make: () =>
        receipts.map((receipt, index) => (index === busy ? { ...receipt, logs: edit([...receipt.logs]) } : receipt)),
    });
    return [
      change("log dropped", (logs) => logs.filter((_, index) => index !== random(logs.length))),
      change("last log dropped", (logs) => logs.slice(0, -1)),
      change("log doubled", (logs) => [...logs, ...logs.slice(-1)]),
      change("logs swapped", (logs) => {
        const [first, second, ...rest] = logs;
        if (!first || !second) return logs;
        return [{ ...second, logIndex: first["logIndex"] }, { ...first, logIndex: second["logIndex"] }, ...rest];
      }),
      change("index shifted", (logs) =>
        logs.map((log) => ({ ...log, logIndex: `0x${(BigInt(String(log["logIndex"])) + 1n).toString(16)}` })),
      ),
      change("log of a sibling block", (logs) => logs.map((log) => ({ ...log, blockHash: `0x${"cd".repeat(32)}` }))),
      change("other receiver", (logs) =>
        logs.map((log) => ({
          ...log,
          topics: (log["topics"] as string[]).map((topic, index) => (index === 2 ? `0x${"0".repeat(62)}42` : topic)),
        })),
      ),
      { name: "empty list", make: () => [] },
      { name: "cut page", make: () => receipts.slice(0, -1) },
    ];
  };
}
