import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DataFolder } from "../src/embedded/data-folder.ts";
import { freePorts } from "../src/free-port.ts";

export interface Ready {
  rest: string;
  rpcUrl: string;
  relayer: string;
  apiKey: string;
  databaseUrl: string;
  chainId: number;
}

export interface BenchStack {
  ready: Ready;
  /** Plain `node:http`: the clients share the CPU with what they measure. */
  post(url: string, body: unknown): Promise<{ status: number; text: string }>;
  /** One call of the node. */
  rpc<T>(method: string, params: readonly unknown[]): Promise<T>;
  stop(): Promise<void>;
}

/** `npm start` in a folder of its own, and a client with its key. */
export async function startBenchStack(): Promise<BenchStack> {
  const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-"));
  const [port = 0] = await freePorts(1);
  const stack = spawn(process.execPath, [join(import.meta.dirname, "../bin/mintyard.ts"), "start"], {
    env: { ...process.env, PORT: String(port), MINTYARD_DATA_DIR: dir, LOG_LEVEL: "warn" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ready = await new Promise<Ready>((done, failed) => {
    stack.once("exit", (code) => failed(new Error(`the stack ended with code ${code}`)));
    createInterface({ input: stack.stdout }).on("line", (line) => {
      if (!line.startsWith("MINTYARD_READY ")) return;
      const databaseUrl = DataFolder.environmentOf(dir)?.["DATABASE_URL"] ?? "";
      done({ ...(JSON.parse(line.slice(15)) as Omit<Ready, "databaseUrl">), databaseUrl });
    });
  });
  const agent = new Agent({ keepAlive: true });
  const post: BenchStack["post"] = async (url, body) =>
    await new Promise((done, failed) => {
      const headers = { authorization: ready.apiKey, "content-type": "application/json" };
      const asked = request(url, { method: "POST", agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => done({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
        response.on("error", failed);
      });
      asked.on("error", failed);
      asked.end(JSON.stringify(body));
    });
  return {
    ...{ ready, post },
    rpc: async <T>(method: string, params: readonly unknown[]) => {
      const { text } = await post(ready.rpcUrl, { jsonrpc: "2.0", id: 1, method, params });
      const answer = JSON.parse(text) as { result?: T; error?: { message: string } };
      if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
      return answer.result as T;
    },
    stop: async () => {
      const ended = new Promise((done) => stack.once("exit", done));
      stack.kill("SIGTERM");
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Runs `work` for consecutive numbers beginning with `from`, a given number at a time. */
export async function inParallel(
  from: number,
  count: number,
  concurrent: number,
  work: (index: number) => Promise<void>,
) {
  let next = from;
  const client = async () => {
    while (next < from + count) await work(next++);
  };
  await Promise.all(Array.from({ length: concurrent }, client));
}

/** @param times in any order. */
export function percentiles(times: readonly number[]) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
