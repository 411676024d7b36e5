// How long from a request to the hash in its answer, on the local chain of `npm start`.
//   node bench/relay/bench-relay.ts [--deployments 600] [--concurrent 20] [--warm 200]
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { freePorts } from "../../src/free-port.ts";

interface Ready {
  rest: string;
  rpcUrl: string;
  relayer: string;
  apiKey: string;
}

const { values } = parseArgs({
  options: {
    deployments: { type: "string", default: "600" },
    concurrent: { type: "string", default: "20" },
    // A process is slow until its code is compiled.
    warm: { type: "string", default: "200" },
  },
});
const total = Number(values.deployments);
const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-relay-"));
const [port = 0] = await freePorts(1);
const stack = spawn(process.execPath, [join(import.meta.dirname, "../../bin/mintyard.ts"), "start"], {
  env: { ...process.env, PORT: String(port), MINTYARD_DATA_DIR: dir, LOG_LEVEL: "warn" },
  stdio: ["ignore", "pipe", "inherit"],
});
const ready = await new Promise<Ready>((done, failed) => {
  stack.once("exit", (code) => failed(new Error(`the stack ended with code ${code}`)));
  createInterface({ input: stack.stdout }).on("line", (line) => {
    if (line.startsWith("MINTYARD_READY ")) done(JSON.parse(line.slice(15)) as Ready);
  });
});

const agent = new Agent({ keepAlive: true });

/** Plain `node:http`: the clients share the processor with what they measure. */
async function post(url: string, body: unknown): Promise<{ status: number; text: string }> {
  return await new Promise((done, failed) => {
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
}

/** @returns milliseconds until the answer with the hash was read; negative for any other answer. */
async function deploy(index: number): Promise<number> {
  const begun = performance.now();
  const { status, text } = await post(`${ready.rest}/contracts/collections`, {
    ...{
      chain: "goerli",
      name: `Bench ${index}`,
      symbol: "BEN",
      max_supply: 1_000,
      tokens_per_mint: 5,
      mint_price: 0.01,
    },
    owner_address: `0x${(index + 1).toString(16).padStart(40, "a")}`,
    treasury_address: `0x${(index + 1).toString(16).padStart(40, "b")}`,
    public_mint_start_date: "2022-01-01T00:00:00",
  });
  const took = performance.now() - begun;
  return status === 200 && (JSON.parse(text) as { transaction_hash?: string }).transaction_hash ? took : -took;
}

/** Transactions of the paying wallet that are in blocks. */
async function mined(): Promise<number> {
  const params = [ready.relayer, "latest"];
  const { text } = await post(ready.rpcUrl, { jsonrpc: "2.0", id: 1, method: "eth_getTransactionCount", params });
  return Number((JSON.parse(text) as { result: string }).result);
}

/** Requests that were refused come out as negative times. */
async function run(from: number, count: number): Promise<number[]> {
  const times: number[] = [];
  let next = from;
  const client = async () => {
    while (next < from + count) times.push(await deploy(next++));
  };
  await Promise.all(Array.from({ length: Number(values.concurrent) }, client));
  return times;
}

try {
  const warm = Number(values.warm);
  const first = await mined();
  const answersOf = (times: readonly number[]) => times.filter((time) => time >= 0).length;
  const whenMined = async (count: number) => {
    while ((await mined()) - first < count) await new Promise((done) => setTimeout(done, 50));
  };
  const warmed = answersOf(await run(0, warm));
  await whenMined(warmed);
  const begun = performance.now();
  const times = await run(warm, total);
  const seconds = (performance.now() - begun) / 1000;
  const minedMeanwhile = (await mined()) - first - warmed;
  await whenMined(warmed + answersOf(times));
  const allMined = (performance.now() - begun) / 1000;
  const answered = times.filter((time) => time >= 0).sort((a, b) => a - b);
  const at = (share: number) =>
    Math.round(answered[Math.min(answered.length - 1, Math.floor(share * answered.length))] ?? 0);
  const figures = {
    deployments: total,
    warm,
    concurrent: Number(values.concurrent),
    refused: total - answered.length,
    ms: { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) },
    perSecond: Math.round((answered.length / seconds) * 10) / 10,
    seconds: { answered: Math.round(seconds * 10) / 10, mined: Math.round(allMined * 10) / 10 },
    minedMeanwhile,
    cores: cpus().length,
    load: loadavg().map((load) => Math.round(load * 10) / 10),
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} finally {
  const ended = new Promise((done) => stack.once("exit", done));
  stack.kill("SIGTERM");
  await ended;
  await rm(dir, { recursive: true, force: true });
}
