import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Answer, Asked, Call, Fault, HttpReply } from "./fault.ts";
import type { HonestNode } from "./honest-node.ts";

export interface Provider {
  url: string;
  /** Requests so far that the fault could hit. */
  readonly hits: number;
  stop(): Promise<void>;
}

type Sent = Omit<Call, "params"> & Partial<Pick<Call, "params">>;

/** An endpoint in front of a node, with one fault; without one it is healthy. */
export async function startProvider(node: HonestNode, fault?: Pick<Fault, "hits" | "play">): Promise<Provider> {
  const play = fault?.play();
  const isHit = ({ method }: Call) => fault?.hits === "all" || (fault?.hits.includes(method) ?? false);
  let hits = 0;

  async function answer(body: string, response: ServerResponse): Promise<void> {
    const parsed = JSON.parse(body) as Sent | Sent[];
    // JSON-RPC lets a call without parameters leave them out.
    const calls = [parsed].flat().map(({ id, method, params = [] }) => ({ id, method, params }));
    const isList = Array.isArray(parsed);
    const honest = (some: readonly Call[]) => node.ask(some);
    if (play && calls.some(isHit)) {
      const asked: Asked = { calls, isList, isHit, honest, before: hits };
      hits += 1;
      const reply = await play(asked);
      if (reply === "hang") return;
      if (reply === "reset") {
        response.socket?.resetAndDestroy();
        return;
      }
      if (reply === "cut") return await cut(response, calls, isList);
      if (reply !== "honest") return write(response, reply, calls, isList);
    }
    write(response, { answers: await node.ask(calls) }, calls, isList);
  }

  /** It promises a whole answer, and ends within it. */
  async function cut(response: ServerResponse, calls: readonly Call[], isList: boolean): Promise<void> {
    const text = JSON.stringify(named(await node.ask(calls), calls, isList));
    response.writeHead(200, { "content-type": "application/json", "content-length": text.length });
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.once("end", () => {
      answer(Buffer.concat(chunks).toString("utf8"), response).catch(() => response.destroy());
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get hits() {
      return hits;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function named(answers: readonly Answer[], calls: readonly Call[], isList: boolean): unknown {
  const all = answers.map((one, index) => ({ jsonrpc: "2.0", id: calls[index]?.id ?? null, ...one }));
  return isList ? all : all[0];
}

function write(response: ServerResponse, reply: HttpReply, calls: readonly Call[], isList: boolean): void {
  const { status = 200, headers = {}, text, json, answers = [] } = reply;
  response.writeHead(status, { "content-type": text === undefined ? "application/json" : "text/html", ...headers });
  response.end(text ?? JSON.stringify(json ?? named(answers, calls, isList)));
}
