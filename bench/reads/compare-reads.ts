// `npm run -s mintyard -- dev bench versions --against <checkout>`: reads of this version compared with another's,
// each on its own copy of the same data, and with bare servers that send the other version's statements, in one run.
// Options: --tokens 2000000 --contracts 2000 --accounts 400000 --seconds 4 --rounds 5 --connections 32,128
//          --keys 2000 (random accounts, requested one after another) --dir <folder to keep the data in>
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import autocannon from "autocannon";
import pg from "pg";
import { fewArenas } from "../../src/compact-heap.ts";
import { startServer } from "../../src/embedded/postgres.ts";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { freePorts } from "../../src/free-port.ts";
import type { BareRead } from "./bare-server.ts";
import type { generate } from "./generate.ts";
import type { makeScenarios, Scenario } from "./scenarios.ts";

const { values: options } = parseArgs({
  options: {
    against: { type: "string" },
    tokens: { type: "string", default: "2000000" },
    contracts: { type: "string", default: "2000" },
    accounts: { type: "string", default: "400000" },
    seconds: { type: "string", default: "4" },
    rounds: { type: "string", default: "5" },
    connections: { type: "string", default: "32,128" },
    keys: { type: "string", default: "2000" },
    only: { type: "string", default: "" },
    dir: { type: "string" },
  },
});
if (!options.against) throw new Error("--against names the folder of the other version, installed");
const wanted = ["graphql account page", "rest account page", "graphql contract page", "graphql detail"].filter((name) =>
  name.includes(options.only),
);
const versions = { other: resolve(options.against), this: resolve(import.meta.dirname, "../..") };
type Version = keyof typeof versions;

const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "mintyard-bench-")));
const [port = 0, ...apiPorts] = await freePorts(3);
let server = await startServer(dir, port);
const children: ChildProcess[] = [];

interface Side {
  name: string;
  pid: number | undefined;
  url: string;
  requests: autocannon.Request[];
}

try {
  const size = {
    tokens: Number(options.tokens),
    contracts: Number(options.contracts),
    accounts: Number(options.accounts),
  };
  const urls = {
    other: server.url.replace(/[^/]*$/, "reads_other"),
    this: server.url.replace(/[^/]*$/, "reads_this"),
  };
  await Promise.all(
    Object.keys(versions).map(async (version) => {
      const of = version as Version;
      await createDatabase(`reads_${of}`);
      const made = (await import(join(versions[of], "bench/reads/generate.ts"))) as { generate: typeof generate };
      await made.generate(urls[of], size, (line) => say(`${of}: ${line}`));
    }),
  );
  say("the data is there");
  const apiKey = randomUUID();
  const apis = {} as Record<Version, Started>;
  for (const [at, version] of (["other", "this"] as const).entries())
    apis[version] = await start(join(versions[version], "src/processes/api.ts"), [], {
      ...{
        DATABASE_URL: urls[version],
        KEY_PEPPER: "of the tests",
        PORT: String(apiPorts[at]),
        MINTYARD_API_KEY: apiKey,
      },
      ...{ MINTYARD_DATA_DIR: join(dir, `service_${version}`), LOG_LEVEL: "error" },
      // As in `npm start`, whose compile cache exists in a checkout that was started before.
      ...{ ...fewArenas, NODE_COMPILE_CACHE: join(versions[version], ".runtime/compile-cache") },
      ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337" },
    });
  const base = (of: Version) => `http://127.0.0.1:${apiPorts[of === "other" ? 0 : 1]}`;
  const bare = join(import.meta.dirname, "bare-server.ts");
  const bares = {
    bare: await start(bare, [urls.other], {}),
    pipelined: await start(bare, [urls.other, "pipelined"], {}),
  };

  const scenarios = {} as Record<Version, Scenario[]>;
  const client = await connect(urls.other);
  for (const version of ["other", "this"] as const) {
    const module = (await import(join(versions[version], "bench/reads/scenarios.ts"))) as {
      makeScenarios: typeof makeScenarios;
    };
    const own = await connect(urls[version]);
    scenarios[version] = await module.makeScenarios(urls[version], own, base(version), apiKey);
    await own.end();
  }
  say(
    "| read | connections | server | of other | requests/s | p50 ms | p99 ms | server us | database us | both | MB |",
  );
  for (const name of wanted) {
    const [other, own] = (["other", "this"] as const).map((of) => scenarios[of].find((one) => one.name === name));
    if (!other || !own) throw new Error(`there is no ${name} in both versions`);
    const reads = await withColumns(client, other.bare);
    const sides: Side[] = [
      { name: "other", pid: apis.other.child.pid, url: base("other"), requests: other.requests },
      { name: "this", pid: apis.this.child.pid, url: base("this"), requests: own.requests },
    ];
    for (const [kind, started] of Object.entries(bares)) {
      await teach(started, reads);
      const requests = reads.map((_, index) => ({ method: "GET" as const, path: `/${index}` }));
      sides.push({ name: kind, pid: started.child.pid, url: `http://127.0.0.1:${started.message.port}`, requests });
    }
    for (const connections of options.connections.split(",").map(Number)) await measure(name, sides, connections);
  }

  const keys = await randomAccounts(client, Number(options.keys));
  const randomSides = (["other", "this"] as const).map((of) => ({
    name: of,
    pid: apis[of].child.pid,
    url: base(of),
    requests: keys.map((account) => ({
      method: "GET" as const,
      path: `/v0/accounts/${account}?chain=goerli&include=metadata&include=contract_information`,
      headers: { Authorization: apiKey },
    })),
  }));
  await measure(`${keys.length} random accounts`, randomSides, 32);
  await client.end();
  for (const side of randomSides) {
    // Nothing is cached in PostgreSQL or, where we may drop it, in the system's page cache.
    await server.stop();
    dropSystemCache();
    server = await startServer(dir, port);
    await sleep(3_000);
    const begun = performance.now();
    const seen = await autocannon({
      url: side.url,
      connections: Math.min(32, side.requests.length),
      amount: side.requests.length,
      requests: side.requests,
    });
    const seconds = (performance.now() - begun) / 1000;
    const failed = seen.non2xx + seen.errors;
    say(
      `cold, ${side.requests.length} accounts once, ${side.name}: ${(side.requests.length / seconds).toFixed(0)} requests/s, ` +
        `p50 ${seen.latency.p50} ms, p99 ${seen.latency.p99} ms${failed > 0 ? `, ${failed} failed` : ""}`,
    );
  }
} finally {
  for (const child of children) child.kill("SIGKILL");
  await server.stop();
  if (!options.dir) await rm(dir, { recursive: true, force: true });
}

async function createDatabase(name: string): Promise<void> {
  const admin = await connect(server.url.replace(/[^/]*$/, "postgres"));
  const { rowCount } = await admin.query("SELECT FROM pg_database WHERE datname = $1", [name]);
  if (!rowCount) await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  // Its error when the database stops would hide the failure that caused the stop.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

interface Started {
  child: ChildProcess;
  message: { port?: number };
}

async function start(file: string, args: string[], env: Record<string, string>): Promise<Started> {
  const child = fork(file, args, { env: { PATH: process.env["PATH"], ...env }, execArgv: [...nodeFlags] });
  children.push(child);
  return { child, message: await next(child) };
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

async function teach({ child }: Started, reads: readonly BareRead[]): Promise<void> {
  const heard = next(child);
  child.send(reads);
  await heard;
}

/** Adds to each read the number of the column that is sent. */
async function withColumns(database: pg.Client, reads: readonly BareRead[]): Promise<BareRead[]> {
  const known = new Map<string, number>();
  const columnAt = async (text: string, values: string[], column: string) => {
    const at =
      known.get(text) ?? (await database.query(text, values)).fields.findIndex((field) => field.name === column);
    known.set(text, at);
    return at;
  };
  const found: BareRead[] = [];
  for (const { statements, texts } of reads) {
    const asked: BareRead["statements"] = [];
    for (const one of statements) asked.push({ ...one, columnAt: await columnAt(one.text, one.values, one.column) });
    found.push({ texts, statements: asked });
  }
  return found;
}

async function measure(name: string, sides: readonly Side[], connections: number): Promise<void> {
  const seen = new Map(
    sides.map((side) => [side.name, { rps: [], p50: [], p99: [], server: [], database: [], failed: 0 } as Figures]),
  );
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
      await idle();
      const before = [processorOf(side.pid), databaseProcessor()] as const;
      const result = await autocannon({
        ...{ url: side.url, connections, requests: side.requests },
        // The first round is a warm-up.
        duration: round === 0 ? 4 : Number(options.seconds),
      });
      const kept = seen.get(side.name);
      if (round === 0 || !kept) continue;
      const each = 1_000_000 / Math.max(1, result.requests.total);
      kept.rps.push(result.requests.average);
      kept.p50.push(result.latency.p50);
      kept.p99.push(result.latency.p99);
      kept.server.push((processorOf(side.pid) - before[0]) * each);
      kept.database.push((databaseProcessor() - before[1]) * each);
      kept.failed += result.non2xx + result.errors;
    }
  }
  const others = seen.get("other")?.rps ?? [];
  for (const side of sides) {
    const figures = seen.get(side.name);
    if (!figures) continue;
    const ratio = median(figures.rps.map((rate, at) => rate / (others[at] ?? Number.NaN)));
    const [serverUs, databaseUs] = [median(figures.server), median(figures.database)];
    say(
      `| ${name} | ${connections} | ${side.name} | ${ratio.toFixed(2)} | ${median(figures.rps).toFixed(0)} | ` +
        `${median(figures.p50)} | ${median(figures.p99)} | ${serverUs.toFixed(0)} | ${databaseUs.toFixed(0)} | ` +
        `${(serverUs + databaseUs).toFixed(0)} | ${memoryOf(side.pid)} |${figures.failed > 0 ? ` ${figures.failed} failed` : ""}`,
    );
  }
}

interface Figures {
  rps: number[];
  p50: number[];
  p99: number[];
  server: number[];
  database: number[];
  failed: number;
}

async function randomAccounts(database: pg.Client, most: number): Promise<string[]> {
  const { rows } = await database.query<{ owner: Buffer }>(
    `SELECT owner FROM nft.account_totals WHERE standard = 'ERC721' AND holding_count >= 20
     ORDER BY md5(encode(owner, 'hex')) LIMIT $1`,
    [most],
  );
  return rows.map(({ owner }) => `0x${owner.toString("hex")}`);
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** Waits until all servers are idle: work left from one measurement would count in the next. */
async function idle(): Promise<void> {
  const spent = () => children.reduce((sum, { pid }) => sum + processorOf(pid), databaseProcessor());
  for (let turn = 0; turn < 60; turn += 1) {
    const before = spent();
    await sleep(400);
    if (spent() - before < 0.08) return;
  }
}

function statOf(pid: number | string | undefined): string[] {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
  } catch {
    return [];
  }
}

/** CPU seconds. */
function processorOf(pid: number | string | undefined): number {
  const fields = statOf(pid);
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100;
}

/** CPU seconds of PostgreSQL: its postmaster, its current processes, and those that have ended. */
function databaseProcessor(): number {
  const [first = ""] = readFileSync(join(dir, "data", "postmaster.pid"), "utf8").split("\n");
  const fields = statOf(first);
  let sum = [11, 12, 13, 14].reduce((all, at) => all + Number(fields[at] ?? 0), 0) / 100;
  for (const pid of readdirSync("/proc")) if (/^\d+$/.test(pid) && statOf(pid)[1] === first) sum += processorOf(pid);
  return sum;
}

function memoryOf(pid: number | undefined): string {
  try {
    const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return (Number(kilobytes) / 1024).toFixed(0);
  } catch {
    return "?";
  }
}

function dropSystemCache(): void {
  try {
    execFileSync("sync");
    writeFileSync("/proc/sys/vm/drop_caches", "3");
  } catch {
    say("the system's cache could not be dropped; only PostgreSQL's own is empty");
  }
}
