// `npm run -s mintyard -- dev bench reads`: our APIs compared with a bare node:http + pg server of the same bytes.
// Options: --tokens 2000000 --contracts 2000 --accounts 400000 --seconds 4 --rounds 5
//          --warm 20000 (requests to each server before measuring) --connections 1,32,128 --only account --dir <folder to keep the data in> --profile <folder>
// Peers run if they are installed: npm ci --prefix bench/reads
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import pg from "pg";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
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
    warm: { type: "string", default: "20000" },
    connections: { type: "string", default: "1,32,128" },
    only: { type: "string", default: "" },
    dir: { type: "string" },
    profile: { type: "string" },
    peers: { type: "string", default: "postgraphile,mercurius,ponder" },
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
  await start("../../src/processes/api.ts", [], {
    DATABASE_URL: postgres.url,
    KEY_PEPPER: "of the tests",
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
  // Its error when the database stops would hide the failure that caused the stop.
  client.on("error", () => undefined);
  await client.connect();
  const peers = await startPeers(client, postgres.url);
  const all = await makeScenarios(postgres.url, client, base, apiKey);
  await warmUp(all, bare);
  const scenarios = all.filter(({ name }) => name.includes(options.only));
  say("| read | connections | server | of bare | requests/s | p50 ms | p99 ms | processor us/request | MB |");
  for (const scenario of scenarios) await measure(scenario, bare, peers);
  say("| read | slowest of its statements, alone, ms |");
  for (const { name, bare: reads } of scenarios) say(`| ${name} | ${(await slowest(client, reads)).toFixed(1)} |`);
  await client.end();
} finally {
  for (const child of children) await end(child);
  await postgres.stop();
  if (!options.dir) await rm(dir, { recursive: true, force: true });
}

async function startPeers(client: pg.Client, url: string): Promise<Map<string, Started>> {
  const peers = new Map<string, Started>();
  const wanted = options.peers.split(",").filter(Boolean);
  // Ponder is installed with the service itself.
  const installed = wanted.filter((name) => {
    try {
      return import.meta.resolve(name) !== "";
    } catch {
      return false;
    }
  });
  if (installed.length < wanted.length)
    say(`peers that are not installed: ${wanted.filter((n) => !installed.includes(n))}`);
  if (installed.length > 0) await client.query(readFileSync(join(import.meta.dirname, "peers.sql"), "utf8"));
  for (const name of installed) {
    peers.set(name, await start(`peer-${name}.mjs`, [url], { GRAPHILE_ENV: "production", NODE_ENV: "production" }));
  }
  return peers;
}

interface Started {
  child: ChildProcess;
  message: { port?: number };
}

async function start(file: string, args: string[], env: Record<string, string>): Promise<Started> {
  // As in `npm start`.
  const execArgv = [...nodeFlags, ...(options.profile ? ["--cpu-prof", `--cpu-prof-dir=${options.profile}`] : [])];
  const child = fork(join(import.meta.dirname, file), args, { env: { PATH: process.env["PATH"], ...env }, execArgv });
  children.push(child);
  return { child, message: await next(child) };
}

/** Only a process that ends by itself writes its profile. */
async function end(child: ChildProcess): Promise<void> {
  if (!options.profile) return void child.kill("SIGKILL");
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await gone;
}

function next(child: ChildProcess): Promise<{ port?: number }> {
  return new Promise((got, failed) => {
    const exited = (code: number | null) => failed(new Error(`a server ended with code ${code}`));
    child.once("exit", exited);
    child.once("message", (message) => {
      child.off("exit", exited);
      got(message as { port?: number });
    });
  });
}

async function measure(scenario: Scenario, bare: Started, peers: Map<string, Started>): Promise<void> {
  const bareRequests = await teach(bare, scenario);
  interface Side {
    name: string;
    pid: number | undefined;
    url: string;
    requests: autocannon.Request[];
  }
  const sides: Side[] = [
    { name: "bare", pid: bare.child.pid, url: local(bare), requests: bareRequests },
    { name: "ours", pid: children[0]?.pid, url: scenario.url, requests: scenario.requests },
  ];
  for (const [name, bodies] of Object.entries(scenario.peers ?? {})) {
    const peer = peers.get(name);
    const headers = { "Content-Type": "application/json" };
    const requests = bodies.map((body) => ({ method: "POST" as const, path: "/graphql", headers, body }));
    if (peer) sides.push({ name, pid: peer.child.pid, url: local(peer), requests });
  }
  for (const connections of options.connections.split(",").map(Number)) {
    const seen = new Map(sides.map(({ name }) => [name, { rps: [], p50: [], p99: [], cpu: [], failed: 0 } as Figures]));
    for (let round = 0; round <= Number(options.rounds); round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        await idle();
        const before = cpuOf(side.pid);
        const result = await autocannon({
          url: side.url,
          connections,
          // The first round is a warm-up: a server is slow until its code is compiled.
          duration: round === 0 ? 4 : Number(options.seconds),
          requests: side.requests,
        });
        const kept = seen.get(side.name);
        if (round === 0 || !kept) continue;
        kept.rps.push(result.requests.average);
        kept.p50.push(result.latency.p50);
        kept.p99.push(result.latency.p99);
        kept.cpu.push(((cpuOf(side.pid) - before) * 1_000_000) / Math.max(1, result.requests.total));
        kept.failed += result.non2xx + result.errors;
      }
    }
    const bareRates = seen.get("bare")?.rps ?? [];
    for (const { name, pid } of sides) {
      const { rps, p50, p99, cpu, failed } = seen.get(name) ?? { rps: [], p50: [], p99: [], cpu: [], failed: 0 };
      const ratio = median(rps.map((rate, index) => rate / (bareRates[index] ?? Number.NaN)));
      say(
        `| ${scenario.name} | ${connections} | ${name} | ${ratio.toFixed(2)} | ${median(rps).toFixed(0)} | ${median(p50)} | ` +
          `${median(p99)} | ${median(cpu).toFixed(0)} | ${memoryOf(pid)} |${failed > 0 ? ` ${failed} failed` : ""}`,
      );
    }
  }
}

/**
 * Sends requests to both servers until their code is compiled: a fixed number, because on a busy CPU a fixed time would
 * leave a server cold, at several times the cost of a request. Most go to the cheapest reads, the others to every kind.
 */
async function warmUp(scenarios: readonly Scenario[], bare: Started): Promise<void> {
  const warm = Number(options.warm);
  if (warm === 0) return;
  for (const scenario of scenarios) {
    const bareRequests = await teach(bare, scenario);
    const amount = Math.ceil(scenario.name.endsWith("detail") ? warm / 2 : warm / 20);
    await autocannon({ url: scenario.url, connections: 32, amount, requests: scenario.requests });
    await autocannon({ url: local(bare), connections: 32, amount, requests: bareRequests });
  }
  say("both servers are warm");
}

/** Sends the bare server its statements. @returns the requests that it now answers. */
async function teach(bare: Started, scenario: Scenario): Promise<autocannon.Request[]> {
  const heard = next(bare.child);
  bare.child.send(scenario.bare satisfies BareRead[]);
  await heard;
  return scenario.bare.map((_, index) => ({ method: "GET" as const, path: `/${index}` }));
}

function local(server: Started): string {
  return `http://127.0.0.1:${server.message.port}`;
}

/** The longest duration of a statement alone, each the best of three: the first run fills the cache. */
async function slowest(client: pg.Client, reads: readonly BareRead[]): Promise<number> {
  let most = 0;
  for (const { text, values } of reads.flatMap(({ statements }) => statements)) {
    const times: number[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const started = performance.now();
      await client.query(text, values);
      times.push(performance.now() - started);
    }
    most = Math.max(most, Math.min(...times));
  }
  return most;
}

interface Figures {
  rps: number[];
  p50: number[];
  p99: number[];
  cpu: number[];
  failed: number;
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** Waits until all servers are idle: work left from one measurement would count in the next. */
async function idle(): Promise<void> {
  const spent = () => children.reduce((sum, { pid }) => sum + cpuOf(pid), 0);
  for (let turn = 0; turn < 120; turn += 1) {
    const before = spent();
    await sleep(500);
    if (spent() - before < 0.1) return;
  }
}

/** A server's CPU seconds: the only comparable measure on a machine that others use too. */
function cpuOf(pid: number | undefined): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

function memoryOf(pid: number | undefined): string {
  try {
    const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kilobytes) / 1024).toFixed(0);
  } catch {
    return "?";
  }
}
