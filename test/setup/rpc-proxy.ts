import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Stands between the service and a node, and breaks what it is told to break. */
export class RpcProxy {
  readonly #server: Server;
  readonly #target: string;
  #lost = new Set<string>();
  #down = false;
  readonly #delays = new Map<string, number>();
  /** Methods in the order in which they came, for questions about what was asked. */
  readonly seen: string[] = [];

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        this.#answer(Buffer.concat(chunks).toString("utf8"), response).catch(() => response.destroy());
      });
    });
  }

  static async start(target: string): Promise<RpcProxy> {
    const proxy = new RpcProxy(target);
    await new Promise<void>((done) => proxy.#server.listen(0, "127.0.0.1", done));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The node takes these requests, and their answers never arrive. */
  loseAnswers(method: string): void {
    this.#lost.add(method);
  }

  /** Requests with this method take so long. */
  delay(method: string, ms: number): void {
    this.#delays.set(method, ms);
  }

  /** Nothing arrives in either direction. */
  goDown(): void {
    this.#down = true;
  }

  heal(): void {
    this.#lost = new Set();
    this.#down = false;
    this.#delays.clear();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(body: string, response: ServerResponse): Promise<void> {
    const parsed = JSON.parse(body) as { method: string } | { method: string }[];
    const methods = (Array.isArray(parsed) ? parsed : [parsed]).map(({ method }) => method);
    this.seen.push(...methods);
    if (this.#down) throw new Error("down");
    const delayMs = Math.max(0, ...methods.map((method) => this.#delays.get(method) ?? 0));
    if (delayMs > 0) await sleep(delayMs);
    const lost = methods.some((method) => this.#lost.has(method));
    const answer = await fetch(this.#target, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    const text = await answer.text();
    if (lost) throw new Error("lost");
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  }
}
