import type { Agent } from "node:http";
import { request } from "node:http";

/** One client of `GET /v1/events`: its events and their times. */
export interface StreamClient {
  /** When each event arrived, by the transaction that caused it. */
  arrivals: Map<string, number>;
  close(): void;
}

/** Opens a stream; resolves once its position is known. */
export async function openStream(url: string, key: string, agent: Agent): Promise<StreamClient> {
  return await new Promise((done, failed) => {
    const asked = request(url, { agent, headers: { authorization: key, accept: "text/event-stream" } }, (response) => {
      if (response.statusCode !== 200) return failed(new Error(`a stream was answered ${response.statusCode}`));
      const arrivals = new Map<string, number>();
      let opened = false;
      response.setEncoding("utf8").on("data", (text: string) => {
        const now = performance.now();
        if (!opened && text.includes("id:")) {
          opened = true;
          done({ arrivals, close: () => response.destroy() });
        }
        // A frame split into two chunks counts with the chunk that has its hash.
        for (const [, hash = ""] of text.matchAll(/"transactionHash":"(0x[0-9a-f]{64})"/g)) arrivals.set(hash, now);
      });
      response.once("error", () => undefined);
    });
    asked.once("error", failed);
    asked.end();
  });
}
