// `npm run -s mintyard -- dev bench scaling`: one API process, two, and two with a streaming standby, alternating.
// Options: --tokens 50000 --contracts 200 --accounts 2000 --seconds 3 --rounds 4 --connections 32
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import pg from "pg";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { startStandby } from "../../test/setup/standby.ts";
import { benchChainId, generate } from "../reads/generate.ts";

const { values: options } = parseArgs({
  options: {
    tokens: { type: "string", default: "50000" },
    contracts: { type: "string", default: "200" },
    accounts: { type: "string", default: "2000" },
    seconds: { type: "string", default: "3" },
    rounds: { type: "string", default: "4" },
    connections: { type: "string", default: "32" },
  },
});
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);

/** A way to run the service: its processes, and the requests to them. */
interface Setup {
  name: string;
  ports: number[];
  pids: number[];
  rates: number[];
  p50: number[];
  p99: number[];
  cpu: number[];
  failed: number;
}

const dir = await mkdtemp(join(tmpdir(), "mintyard-scaling-"));
const [primaryPort = 0, standbyPort = 0, ...ports] = await freePorts(5);
const [first = 0, second = 0, third = 0] = ports;
const children = new Map<number, ChildProcess>();
const servers: EmbeddedPostgres[] = [];
try {
  const primary = await startPostgres(join(dir, "primary"), primaryPort);
  servers.push(primary);
  const size = {
    tokens: Number(options.tokens),
    contracts: Number(options.contracts),
    accounts: Number(options.accounts),
  };
  await generate(primary.url, size, () => undefined);
  const standby = await startStandby(primary, join(dir, "primary"), join(dir, "standby"), standbyPort);
  servers.unshift(standby);
  const key = randomUUID();
  // The third process reads from the standby; with the first process, each database serves one process.
  for (const port of ports) await startApi(port, key, primary.url, port === third ? standby.url : "");
  const paths = await accountPages(primary.url);
  const setups = [
    { name: "one process", ports: [first] },
    { name: "two processes", ports: [first, second] },
    { name: "two processes, one of them on a standby", ports: [first, third] },
  ].map(({ name, ports: used }): Setup => {
    const pids = used.map((port) => children.get(port)?.pid ?? 0);
    return { name, ports: used, pids, rates: [], p50: [], p99: [], cpu: [], failed: 0 };
  });
  for (let round = 0; round <= Number(options.rounds); round += 1)
    for (const setup of round % 2 === 0 ? setups : setups.toReversed()) await measure(setup, paths, key, round > 0);
  const reads = await fetch(`http://127.0.0.1:${third}/metrics`).then((answer) => answer.text());
  say(reads.split("\n").find((line) => line.startsWith("mintyard_replica_reads_total")) ?? "the standby was not asked");
  say("| API processes | requests/s | of one | p50 ms | p99 ms | processor us/request, API | failed |");
  for (const { name, rates, p50, p99, cpu, failed } of setups) {
    const ratio = median(rates.map((rate, index) => rate / (setups[0]?.rates[index] ?? Number.NaN)));
    say(
      `| ${name} | ${median(rates).toFixed(0)} | ${ratio.toFixed(2)} | ${median(p50)} | ${median(p99)} | ${median(cpu).toFixed(0)} | ${failed} |`,
    );
  }
} finally {
  for (const child of children.values()) child.kill("SIGKILL");
  for (const server of servers) await server.stop();
  await rm(dir, { recursive: true, force: true });
}

async function startApi(port: number, key: string, databaseUrl: string, replicaUrl: string): Promise<void> {
  const child = fork(join(import.meta.dirname, "../../src/processes/api.ts"), [], {
    env: {
      ...{
        PATH: process.env["PATH"],
        DATABASE_URL: databaseUrl,
        KEY_PEPPER: "of the tests",
        DATABASE_REPLICA_URLS: replicaUrl,
      },
      ...{ PORT: String(port), MINTYARD_API_KEY: key, MINTYARD_DATA_DIR: join(dir, `service-${port}`) },
      ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: String(benchChainId), LOG_LEVEL: "error" },
    },
  });
  children.set(port, child);
  await new Promise((ready, failed) => {
    child.once("message", ready);
    child.once("exit", (code) => failed(new Error(`a server ended with code ${code}`)));
  });
}

/** Pages of 50 NFTs, of accounts that own so many. */
async function accountPages(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ owner: Buffer }>(
    "SELECT owner FROM nft.account_totals WHERE standard = 'ERC721' AND holding_count >= 60 ORDER BY holding_count LIMIT 200",
  );
  await client.end();
  const pages = rows.map(({ owner }) => `/v0/accounts/0x${owner.toString("hex")}?chain=goerli&page_size=50`);
  if (pages.length < 20) throw new Error("too few accounts hold a full page");
  return pages;
}

/** Requests to all processes of a setup at once; connections are divided among them as by a load balancer. */
async function measure(setup: Setup, paths: string[], key: string, kept: boolean): Promise<void> {
  const before = cpuOf(setup.pids);
  const results = await Promise.all(
    setup.ports.map((port) =>
      autocannon({
        url: `http://127.0.0.1:${port}`,
        connections: Number(options.connections) / setup.ports.length,
        duration: Number(options.seconds),
        requests: paths.map((path) => ({ method: "GET" as const, path, headers: { Authorization: key } })),
      }),
    ),
  );
  setup.failed += results.reduce((sum, { non2xx, errors }) => sum + non2xx + errors, 0);
  // The first round is a warm-up: a server is slow until its code is compiled.
  if (!kept) return;
  const total = results.reduce((sum, { requests }) => sum + requests.total, 0);
  setup.rates.push(results.reduce((sum, { requests }) => sum + requests.average, 0));
  setup.p50.push(Math.max(...results.map(({ latency }) => latency.p50)));
  setup.p99.push(Math.max(...results.map(({ latency }) => latency.p99)));
  setup.cpu.push(((cpuOf(setup.pids) - before) * 1_000_000) / Math.max(1, total));
}

/** CPU seconds. */
function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return sum + (Number(fields[11]) + Number(fields[12])) / 100;
  }, 0);
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
