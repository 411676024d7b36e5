import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Address, Hex } from "viem";

interface Call {
  method: string;
  params?: { data?: Hex; input?: Hex }[];
}

/** An endpoint that passes everything on, and gives an address of its choice for one call. */
export class FaultyEndpoint {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param selector of the call that it answers with `address`. */
  static async start(target: string, selector: Hex, address: Address): Promise<FaultyEndpoint> {
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      const asked = JSON.parse(body) as Call | Call[];
      const headers = { "content-type": "application/json" };
      const answers = await (await fetch(target, { method: "POST", headers, body })).json();
      for (const [index, { method, params }] of [asked].flat().entries()) {
        const data = params?.[0]?.data ?? params?.[0]?.input;
        if (method !== "eth_call" || !data?.startsWith(selector)) continue;
        const answer = Array.isArray(asked) ? answers[index] : answers;
        answer.result = `0x${address.slice(2).padStart(64, "0")}`;
      }
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
