import { readFileSync } from "node:fs";
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const deploy = join(import.meta.dirname, "../../deploy");
const template = readFileSync(join(deploy, "nginx.conf.template"), "utf8");
// Nginx answers 502 when it has put all processes aside; this stand-in never does that, and so must the original not.
if (!/server \S+ resolve max_fails=0;/.test(readFileSync(join(deploy, "compose.yaml"), "utf8")))
  throw new Error("deploy/compose.yaml lets the proxy put processes aside");
/** Paths whose POSTs the proxy of deploy/ repeats. */
const repeatablePosts = [...template.matchAll(/location ~ (\S+) \{[^}]*non_idempotent/g)].map(
  ([, path]) => new RegExp(path ?? "^$"),
);

/**
 * Does what the reverse proxy of deploy/ is told to do: requests go round, and one that got no answer goes
 * to the next process when it may be repeated. With `checkMs` it asks `/readyz` as well, and repeats nothing.
 */
export class ReverseProxy {
  readonly #server: Server;
  readonly #ports: readonly number[];
  readonly #ready: Set<number>;
  readonly #checks: NodeJS.Timeout | null;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  #turn = 0;
  repeated = 0;

  private constructor(ports: readonly number[], checkMs: number | null) {
    this.#ports = ports;
    this.#ready = new Set(ports);
    this.#server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing, checkMs === null));
    this.#checks = checkMs === null ? null : setInterval(() => void this.#check(), checkMs);
  }

  static async start(ports: readonly number[], options: { checkMs?: number } = {}): Promise<ReverseProxy> {
    const proxy = new ReverseProxy(ports, options.checkMs ?? null);
    await new Promise<void>((done) => proxy.#server.listen(0, "127.0.0.1", done));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    clearInterval(this.#checks ?? undefined);
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
    this.#agent.destroy();
  }

  async #check(): Promise<void> {
    for (const port of this.#ports) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
      if (answer?.ok) this.#ready.add(port);
      else this.#ready.delete(port);
    }
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse, repeats: boolean): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const path = incoming.url?.split("?")[0] ?? "";
    const repeatable = incoming.method !== "POST" || repeatablePosts.some((pattern) => pattern.test(path));
    const tried = new Set<number>();
    const faults: string[] = [];
    for (;;) {
      const port = this.#next(tried);
      tried.add(port);
      try {
        await this.#pass(port, incoming, body, outgoing);
        return;
      } catch (error) {
        faults.push(`${port} ${error}`);
        if (!repeats || !repeatable || tried.size >= this.#ports.length || outgoing.headersSent) break;
        this.repeated += 1;
      }
    }
    if (!outgoing.headersSent) outgoing.writeHead(502);
    outgoing.end(faults.join("; "));
  }

  #next(tried: ReadonlySet<number>): number {
    const usable = this.#ports.filter((port) => this.#ready.has(port) && !tried.has(port));
    this.#turn += 1;
    return usable[this.#turn % usable.length] ?? 0;
  }

  #pass(port: number, incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse): Promise<void> {
    return new Promise((done, failed) => {
      const { method = "GET", url: path = "/" } = incoming;
      const headers = { ...incoming.headers, connection: "keep-alive", "content-length": String(body.length) };
      const passed = request({ host: "127.0.0.1", port, method, path, headers, agent: this.#agent }, (answer) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("error", failed);
        answer.on("end", () => {
          const { "transfer-encoding": _chunked, connection: _hop, ...kept } = answer.headers;
          outgoing.writeHead(answer.statusCode ?? 502, kept).end(Buffer.concat(parts));
          done();
        });
      });
      passed.on("error", failed);
      passed.end(body);
    });
  }
}
