import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
  at: number;
}

/** What a receiver answers to one message. */
export type Answer =
  | { status: number; body?: string; headers?: Record<string, string>; afterMs?: number }
  | "hang"
  | "reset";

/** A server of somebody's, that answers as it is told to. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  answer: (message: Received) => Answer = () => ({ status: 204 });
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("error", () => undefined);
      request.on("end", () => {
        const message = {
          headers: request.headers,
          body: Buffer.concat(parts).toString(),
          path: request.url ?? "/",
          at: performance.now(),
        };
        this.received.push(message);
        const answer = this.answer(message);
        if (answer === "hang") return;
        if (answer === "reset") request.socket.destroy();
        else setTimeout(() => response.writeHead(answer.status, answer.headers).end(answer.body), answer.afterMs ?? 0);
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((done) => receiver.#server.listen(0, "127.0.0.1", done));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
