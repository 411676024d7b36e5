// How long from a request to the hash in its answer, and from its acceptance, on the local chain of `npm start`.
//   node bench/relay/bench-relay.ts [--deployments 600] [--concurrent 20] [--warm 200]
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import pg from "pg";
import { freePorts } from "../../src/free-port.ts";

interface Ready {
  rest: string;
  rpcUrl: string;
  relayer: string;
  apiKey: string;
  databaseUrl: string;
}

interface Answer {
  /** Milliseconds since the request was sent; it waits for its turn at the API like everybody's. */
  took: number;
  /** By the machine's clock, which is the database's too. */
  at: number;
  /** Null when the request was refused. */
  hash: string | null;
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

async function deploy(index: number): Promise<Answer> {
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
  const answer = { took: performance.now() - begun, at: performance.timeOrigin + performance.now() };
  const { transaction_hash: hash } = status === 200 ? (JSON.parse(text) as { transaction_hash?: string }) : {};
  return { ...answer, hash: hash ?? null };
}

/** Milliseconds from the moment at which a request's row was written to the end of its answer, ascending. */
async function sinceAccepted(answers: readonly Answer[]): Promise<number[]> {
  const client = new pg.Client({ connectionString: ready.databaseUrl });
  await client.connect();
  const hashes = answers.map(({ hash }) => Buffer.from((hash ?? "0x").slice(2), "hex"));
  const { rows } = await client.query<{ place: string; accepted: number }>(
    `SELECT h.place, (extract(epoch FROM i.created_at) * 1000)::float8 AS accepted
     FROM unnest($1::bytea[]) WITH ORDINALITY AS h (hash, place)
     JOIN service.attempt a ON a.hash = h.hash
     JOIN service.nonce_reservation s ON (s.chain_id, s.addr, s.nonce) = (a.chain_id, a.addr, a.nonce)
     JOIN service.intent i ON i.id = s.intent_id`,
    [hashes],
  );
  await client.end();
  if (rows.length !== answers.length) throw new Error(`${rows.length} of ${answers.length} answers are in the tables`);
  return rows.map(({ place, accepted }) => (answers[Number(place) - 1]?.at ?? 0) - accepted).sort((a, b) => a - b);
}

/** Transactions of the paying wallet that are in blocks. */
async function mined(): Promise<number> {
  const params = [ready.relayer, "latest"];
  const { text } = await post(ready.rpcUrl, { jsonrpc: "2.0", id: 1, method: "eth_getTransactionCount", params });
  return Number((JSON.parse(text) as { result: string }).result);
}

async function run(from: number, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = from;
  const client = async () => {
    while (next < from + count) answers.push(await deploy(next++));
  };
  await Promise.all(Array.from({ length: Number(values.concurrent) }, client));
  return answers.filter(({ hash }) => hash !== null);
}

/** @param times ascending. */
function percentiles(times: readonly number[]) {
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

try {
  const warm = Number(values.warm);
  const first = await mined();
  const whenMined = async (count: number) => {
    while ((await mined()) - first < count) await new Promise((done) => setTimeout(done, 50));
  };
  const { length: warmed } = await run(0, warm);
  await whenMined(warmed);
  const begun = performance.now();
  const answered = await run(warm, total);
  const seconds = (performance.now() - begun) / 1000;
  const minedMeanwhile = (await mined()) - first - warmed;
  await whenMined(warmed + answered.length);
  const allMined = (performance.now() - begun) / 1000;
  const figures = {
    deployments: total,
    warm,
    concurrent: Number(values.concurrent),
    refused: total - answered.length,
    ms: percentiles(answered.map(({ took }) => took).sort((a, b) => a - b)),
    sinceAccepted: percentiles(await sinceAccepted(answered)),
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
