import type { RequestOptions } from "node:http";
import { Worker } from "node:worker_threads";
import type { Reply } from "./attack.ts";
import type { Answered, Asked } from "./client-thread.ts";

/** Sends requests from a thread, and knows what that took of the processor. */
export class Client {
  readonly #thread = new Worker(new URL("./client-thread.ts", import.meta.url), { execArgv: [] });
  readonly #waiting = new Map<number, (answer: Answered) => void>();
  #next = 0;
  #threadMs = 0;
  #encodingMs = 0;

  constructor() {
    this.#thread.on("message", (answer: Answered) => {
      this.#threadMs = answer.processorMs;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  /** Of this process, since the beginning. */
  get processorMs(): number {
    return this.#threadMs + this.#encodingMs;
  }

  /** A body as it is sent. */
  async encode(body: unknown): Promise<{ bytes?: Uint8Array; type: string }> {
    if (body === undefined) return { type: "" };
    const start = process.cpuUsage();
    try {
      if (!(body instanceof FormData)) return { bytes: Buffer.from(JSON.stringify(body)), type: "application/json" };
      const form = new Response(body);
      const bytes = new Uint8Array(await form.arrayBuffer());
      return { bytes, type: form.headers.get("content-type") ?? "" };
    } finally {
      const { user, system } = process.cpuUsage(start);
      this.#encodingMs += (user + system) / 1_000;
    }
  }

  async ask(options: RequestOptions, body?: Uint8Array, withinMs?: number): Promise<Reply> {
    this.#next += 1;
    const asked: Asked = { id: this.#next, options, body, withinMs };
    const { reply } = await new Promise<Answered>((done) => {
      this.#waiting.set(asked.id, done);
      this.#thread.postMessage(asked);
    });
    if (!reply) throw new Error(`no answer to ${options.method} ${options.path}`);
    return reply;
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
