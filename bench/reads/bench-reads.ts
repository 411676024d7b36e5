// `npm run bench:reads`: our doors beside a bare node:http + pg server that sends the same bytes.
// Options: --tokens 2000000 --contracts 2000 --accounts 400000 --seconds 4 --rounds 5
//          --connections 1,32,128 --only account --dir <folder to keep the data in> --profile <folder>
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import pg from "pg";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import type { BareRead } from "./bare-server.ts";
import { generate } from "./generate.ts";
import { makeScenarios, type Scenario } from "./scenarios.ts";

const { values: options } = parseArgs({
  options: {
    tokens: { type: "string", default: "2000000" },
    contracts: { type: "string", default: "2000" },
    accounts: { type: "string", default: "400000" },
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "5" },
    connections: { type: "string", default: "1,32,128" },
    only: { type: "string", default: "" },
    dir: { type: "string" },
    profile: { type: "string" },
  },
});
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "mintyard-bench-")));
const [postgresPort = 0, apiPort = 0] = await freePorts(2);
const postgres = await startPostgres(dir, postgresPort);
const children: ChildProcess[] = [];
try {
  const size = {
    tokens: Number(options.tokens),
    contracts: Number(options.contracts),
    accounts: Number(options.accounts),
  };
  const done = join(dir, "generated.json");
  if (!existsSync(done) || readFileSync(done, "utf8") !== JSON.stringify(size)) {
    await generate(postgres.url, size, say);
    writeFileSync(done, JSON.stringify(size));
  }
  const apiKey = randomUUID();
  await start("../../src/api.ts", [], {
    DATABASE_URL: postgres.url,
    PORT: String(apiPort),
    MINTYARD_API_KEY: apiKey,
    MINTYARD_DATA_DIR: join(dir, "service"),
    RPC_URL_GOERLI: "http://127.0.0.1:9",
    CHAIN_ID_GOERLI: "31337",
    LOG_LEVEL: "error",
  });
  const bare = await start("bare-server.ts", [postgres.url], {});
  const base = `http://127.0.0.1:${apiPort}`;
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const scenarios = (await makeScenarios(postgres.url, client, base, apiKey)).filter(({ name }) =>
    name.includes(options.only),
  );
  for (const scenario of scenarios) await measure(scenario, bare);
  await client.end();
} finally {
  for (const child of children) await end(child);
  await postgres.stop();
  if (!options.dir) await rm(dir, { recursive: true, force: true });
}

interface Started {
  child: ChildProcess;
  message: { port?: number };
}

async function start(file: string, args: string[], env: Record<string, string>): Promise<Started> {
  const execArgv = options.profile ? ["--cpu-prof", `--cpu-prof-dir=${options.profile}`] : [];
  const child = fork(join(import.meta.dirname, file), args, { env: { PATH: process.env["PATH"], ...env }, execArgv });
  children.push(child);
  return { child, message: await next(child) };
}

/** A profile is written by a process that ends by itself. */
async function end(child: ChildProcess): Promise<void> {
  if (!options.profile) return void child.kill("SIGKILL");
  const gone = new Promise((done) => child.once("exit", done));
  child.disconnect();
  await gone;
}

function next(child: ChildProcess): Promise<{ port?: number }> {
  return new Promise((got, failed) => {
    child.once("message", (message) => got(message as { port?: number }));
    child.once("exit", (code) => failed(new Error(`a server ended with code ${code}`)));
  });
}

async function measure(scenario: Scenario, bare: Started): Promise<void> {
  const heard = next(bare.child);
  bare.child.send(scenario.bare satisfies BareRead[]);
  await heard;
  const bareRequests = scenario.bare.map((_, index) => ({ method: "GET" as const, path: `/${index}` }));
  const sides = [
    { name: "bare", url: `http://127.0.0.1:${bare.message.port}`, requests: bareRequests },
    { name: "ours", url: scenario.url, requests: scenario.requests },
  ];
  for (const connections of options.connections.split(",").map(Number)) {
    const seen = new Map<string, { rps: number[]; p50: number[]; p99: number[]; cpu: number[]; failed: number }>();
    for (let round = 0; round <= Number(options.rounds); round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const before = cpuOf(side.name);
        const result = await autocannon({
          url: side.url,
          connections,
          // The first round only warms up.
          duration: round === 0 ? 1 : Number(options.seconds),
          requests: side.requests,
        });
        if (round === 0) continue;
        const kept = seen.get(side.name) ?? { rps: [], p50: [], p99: [], cpu: [], failed: 0 };
        kept.rps.push(result.requests.average);
        kept.p50.push(result.latency.p50);
        kept.p99.push(result.latency.p99);
        kept.cpu.push(((cpuOf(side.name) - before) * 1_000_000) / Math.max(1, result.requests.total));
        kept.failed += result.non2xx + result.errors;
        seen.set(side.name, kept);
      }
    }
    const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
    const [one, other] = ["bare", "ours"].map(
      (name) => seen.get(name) ?? { rps: [], p50: [], p99: [], cpu: [], failed: 0 },
    );
    if (!one || !other) continue;
    const ratios = other.rps.map((rps, index) => rps / (one.rps[index] ?? Number.NaN));
    say(
      `${scenario.name.padEnd(28)} ${String(connections).padStart(3)} connections: ${median(ratios).toFixed(2)} of bare ` +
        `(${median(other.rps).toFixed(0)}/s against ${median(one.rps).toFixed(0)}/s), p50 ${median(other.p50)} against ` +
        `${median(one.p50)} ms, p99 ${median(other.p99)} against ${median(one.p99)} ms, processor ${median(other.cpu).toFixed(0)} against ${median(one.cpu).toFixed(0)} us a request, ${memoryOf("ours")} MB against ` +
        `${memoryOf("bare")} MB, failed ${other.failed} and ${one.failed}`,
    );
  }
}

/** Seconds of processor time of a server: what is left to compare on a machine that others use too. */
function cpuOf(side: string): number {
  const child = children[side === "ours" ? 0 : 1];
  try {
    const fields = readFileSync(`/proc/${child?.pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

function memoryOf(side: "ours" | "bare"): string {
  const child = children[side === "ours" ? 0 : 1];
  try {
    const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child?.pid}/status`, "utf8")) ?? [];
    return (Number(kilobytes) / 1024).toFixed(0);
  } catch {
    return "?";
  }
}
