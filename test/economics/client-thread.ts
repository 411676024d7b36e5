// A client in a thread of its own, which says how much of the processor it took: what asks is no part of what is asked.
import { Agent, type RequestOptions, request } from "node:http";
import { parentPort } from "node:worker_threads";
import type { Reply } from "./attack.ts";

export interface Asked {
  id: number;
  options: RequestOptions;
  body: Uint8Array | undefined;
  /** Then the connection is cut: a stream has no end. */
  withinMs: number | undefined;
}

export interface Answered {
  id: number;
  reply: Reply | null;
  /** Of this thread, since it began. */
  processorMs: number;
}

/** Of an answer that is kept: enough to read an id in it. Whoever attacks looks at nothing. */
const keptBytes = 65_536;
const agent = new Agent({ keepAlive: true });

function exchange({ options, body, withinMs }: Asked): Promise<Reply | null> {
  return new Promise((done) => {
    const outgoing = request({ ...options, agent }, (answer) => {
      const parts: Buffer[] = [];
      let size = 0;
      const finish = () =>
        done({
          status: answer.statusCode ?? 0,
          text: Buffer.concat(parts).toString("utf8"),
          cookies: answer.headers["set-cookie"] ?? [],
        });
      answer.on("data", (part: Buffer) => {
        if (size < keptBytes) parts.push(part);
        size += part.length;
      });
      answer.once("end", finish);
      answer.once("close", finish);
      if (withinMs !== undefined) setTimeout(() => answer.destroy(), withinMs);
    });
    outgoing.once("error", () => done(null));
    outgoing.end(body);
  });
}

parentPort?.on("message", async (asked: Asked) => {
  const reply = await exchange(asked);
  const { user, system } = process.threadCpuUsage();
  parentPort?.postMessage({ id: asked.id, reply, processorMs: (user + system) / 1_000 } satisfies Answered);
});
