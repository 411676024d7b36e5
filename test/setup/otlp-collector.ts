import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

export interface CollectedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: { key: string; value: Record<string, unknown> }[];
}

/** Takes what an OTLP/HTTP exporter sends (protocol JSON), and keeps it. */
export class OtlpCollector {
  readonly #server: Server;
  /** Bodies as they came. */
  readonly received: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const body = Buffer.concat(chunks);
        const text = request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
        if (request.url === "/v1/traces") this.received.push(text.toString("utf8"));
        response.writeHead(200, { "Content-Type": "application/json" }).end("{}");
      });
    });
  }

  static async start(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    await new Promise<void>((ready) => collector.#server.listen(0, "127.0.0.1", ready));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  spans(): CollectedSpan[] {
    return this.received.flatMap((body) =>
      (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: CollectedSpan[] }[] }[] }).resourceSpans.flatMap(
        ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
