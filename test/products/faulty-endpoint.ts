import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Address, type Hex, numberToHex } from "viem";

interface Call {
  method: string;
  params?: unknown[];
}

interface Answer {
  result?: unknown;
  error?: { code: number; message: string };
}

/** An endpoint that passes everything on to a node, but for one fault. */
export class FaultyEndpoint {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** It gives an address of its choice for one call. @param selector of the call. */
  static async withAddress(target: string, selector: Hex, address: Address): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.#start(target, {
      answer: ({ method, params }, answer) => {
        const [call] = (params ?? []) as { data?: Hex; input?: Hex }[];
        const data = call?.data ?? call?.input;
        if (method === "eth_call" && data?.startsWith(selector))
          answer.result = `0x${address.slice(2).padStart(64, "0")}`;
      },
    });
  }

  /** Its newest block is an old one. */
  static async behind(target: string, block: bigint): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.#start(target, {
      ask: (call) => {
        if (call.method === "eth_getBlockByNumber" && call.params?.[0] === "latest")
          call.params = [numberToHex(block), ...call.params.slice(1)];
      },
      answer: ({ method }, answer) => {
        if (method === "eth_blockNumber") answer.result = numberToHex(block);
      },
    });
  }

  /** Its node cannot estimate gas, for a reason of its own. @param next the error of the next estimate; null: none. */
  static async unableToEstimate(target: string, next: () => Answer["error"] | null): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.#start(target, {
      answer: ({ method }, answer) => {
        const error = method === "eth_estimateGas" ? next() : null;
        if (!error) return;
        delete answer.result;
        answer.error = error;
      },
    });
  }

  static async #start(
    target: string,
    fault: { ask?: (call: Call) => void; answer?: (call: Call, answer: Answer) => void },
  ): Promise<FaultyEndpoint> {
    const server = createServer(async (request, response) => {
      const asked = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Call | Call[];
      const calls = [asked].flat();
      for (const call of calls) fault.ask?.(call);
      const headers = { "content-type": "application/json" };
      const answers = await (await fetch(target, { method: "POST", headers, body: JSON.stringify(asked) })).json();
      for (const [index, call] of calls.entries())
        fault.answer?.(call, Array.isArray(asked) ? answers[index] : answers);
      response.writeHead(200, headers).end(JSON.stringify(answers));
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new FaultyEndpoint(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
