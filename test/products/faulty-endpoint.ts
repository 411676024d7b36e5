import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Address, type Hex, numberToHex } from "viem";
import { postOnce } from "../setup/post-once.ts";

interface Call {
  method: string;
  params?: unknown[];
}

interface Answer {
  result?: unknown;
  error?: { code: number; message: string };
}

export function refuse(answer: Answer, error: NonNullable<Answer["error"]>): void {
  delete answer.result;
  answer.error = error;
}

type Fault = NonNullable<Parameters<typeof FaultyEndpoint.start>[1]>;

export const withoutPending: Fault = {
  answer: ({ params }, answer) => {
    if (params?.at(-1) === "pending") refuse(answer, { code: -32_602, message: "invalid block tag: pending" });
  },
};

/** An endpoint that passes everything on to a node, but for one fault. */
export class FaultyEndpoint {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** It gives an address of its choice for one call. @param selector of the call. */
  static async withAddress(target: string, selector: Hex, address: Address): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.start(target, {
      answer: ({ method, params }, answer) => {
        const [call] = (params ?? []) as { data?: Hex; input?: Hex }[];
        const data = call?.data ?? call?.input;
        if (method === "eth_call" && data?.startsWith(selector))
          answer.result = `0x${address.slice(2).padStart(64, "0")}`;
      },
    });
  }

  /** It knows no pending block. */
  static async withoutPending(target: string): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.start(target, withoutPending);
  }

  /** Its newest block is an old one. */
  static async behind(target: string, block: bigint): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.start(target, {
      ask: (call) => {
        if (call.method === "eth_getBlockByNumber" && call.params?.[0] === "latest")
          call.params = [numberToHex(block), ...call.params.slice(1)];
      },
      answer: ({ method }, answer) => {
        if (method === "eth_blockNumber") answer.result = numberToHex(block);
      },
    });
  }

  /** Its node cannot simulate, for a reason of its own. @param next the error of the next simulation; null: none. */
  static async unableToSimulate(target: string, next: () => Answer["error"] | null): Promise<FaultyEndpoint> {
    return await FaultyEndpoint.start(target, {
      answer: ({ method, params }, answer) => {
        const [call] = (params ?? []) as { gas?: Hex }[];
        const simulates = method === "eth_estimateGas" || (method === "eth_call" && call?.gas !== undefined);
        const error = simulates ? next() : null;
        if (error) refuse(answer, error);
      },
    });
  }

  /**
   * @param fault what it does to a call, and to its answer. `mostCalls`: longer lists of calls are refused as a whole;
   *   below 1 all lists. `credentials`: what it wants as user and password.
   */
  static async start(
    target: string,
    fault: {
      ask?: (call: Call) => void | Promise<void>;
      answer?: (call: Call, answer: Answer) => void;
      mostCalls?: number;
      credentials?: string;
    },
  ): Promise<FaultyEndpoint> {
    const serve = async (request: IncomingMessage, response: ServerResponse) => {
      // A handshake for websockets: it has none.
      if (request.method !== "POST") return response.writeHead(405).end();
      const asked = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Call | Call[];
      const calls = [asked].flat();
      const { mostCalls = Number.POSITIVE_INFINITY, credentials } = fault;
      const wanted = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
      if (wanted && request.headers.authorization !== wanted) return response.writeHead(401).end("who are you?");
      if (Array.isArray(asked) && asked.length > mostCalls) {
        const error = { code: -32_600, message: "batch requests are not supported" };
        return response.writeHead(400).end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
      }
      for (const call of calls) await fault.ask?.(call);
      const headers = { "content-type": "application/json" };
      const answers = await postOnce<Answer | Answer[]>(target, asked);
      for (const [index, call] of calls.entries()) fault.answer?.(call, [answers].flat()[index] ?? {});
      return response.writeHead(200, headers).end(JSON.stringify(answers));
    };
    const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
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
