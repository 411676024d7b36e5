import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { availableParallelism, getPriority } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { freePorts } from "../../src/free-port.ts";
import { generate } from "../reads/generate.ts";
import type { Attack, Attacked, AttackRequest, Outcomes } from "./attackers.ts";

export interface AttackOptions {
  /** Folder of the data, which is kept. */
  dir: string;
  /** Nearly all of them are in one contract. */
  tokens: number;
  /** Length of each phase. */
  seconds: number;
  /** Attacks to run one by one before all of them at once; empty: only all at once. */
  alone: string[];
  /** Whether to measure without attackers too, and with only those attackers that have a key. */
  compared: boolean;
}

export interface Latencies {
  p50: number;
  p99: number;
  most: number;
  count: number;
  failed: number;
}

export interface Phase {
  name: string;
  /** Fast-path reads over GraphQL and `/v0`, at a steady rate. */
  honest: Latencies;
  livez: Latencies;
  outcomes: Outcomes;
  /** CPU cores used by the attackers' process. */
  attackerCores: number;
  /** Most heavy statements running at once. */
  heavy: number;
  /** Last seen nice values of the server processes that ran them. */
  heavyNice: number[];
}

/** POST /graphql with this key, or without a key. */
const graphql = (key: string | null, body: string): AttackRequest => ({
  ...{ method: "POST", path: "/graphql", body },
  headers: { "Content-Type": "application/json", ...(key === null ? {} : { Authorization: key }) },
});

const kilobytes = (text: string) => text.repeat(Math.ceil(5_000 / text.length));

/** Twenty connections on one contract: expensive reads by an account, documents and queries without a key. */
export function attacksOn(contract: string, key: string): Attack[] {
  const filter = (count: number) =>
    `{ or: [${Array.from({ length: count }, (_, at) => `{ name: "none${at}#" }`).join()}] }`;
  const traits = (count: number) =>
    JSON.stringify({
      query: `query ($f: TraitFilter) { contract(chain: "goerli", address: "${contract}") { nfts(first: 50, traits: $f) { nodes { tokenId } } } }`,
      variables: { f: JSON.parse(filter(count).replace(/(\w+):/g, '"$1":')) },
    });
  const reports = [
    `contract(chain: "goerli", address: "${contract}") { statistics { ownerCount } }`,
    `contract(chain: "goerli", address: "${contract}") { traits { name } }`,
    `contract(chain: "goerli", address: "${contract}") { owners { totalCount } }`,
  ].map((field) => JSON.stringify({ query: `{ ${field} }` }));
  const aliases = (field: string) =>
    JSON.stringify({ query: `{ ${Array.from({ length: 30 }, (_, at) => `a${at}: ${field}`).join(" ")} }` });
  const attack = (name: string, connections: number, sender: string | null, bodies: string[]): Attack => ({
    ...{ name, connections },
    requests: bodies.map((body) => graphql(sender, body)),
  });
  return [
    attack("traits", 6, key, [traits(8), traits(8), traits(29)]),
    attack("reports", 4, key, reports),
    attack("documents", 4, null, newDocuments),
    attack("status", 3, null, [aliases("status { database chains { chain indexedBlock } }")]),
    attack("eligibility", 3, null, [
      aliases(`eligibility(chain: "goerli", collection: "${contract}", wallet: "${contract}") { eligible }`),
    ]),
  ];
}

/** Documents that no server has parsed and validated before: `#` is a different number each time. */
const newDocuments = [
  `{ ${kilobytes("no# what# ")} }`,
  `{ status { ${kilobytes("a#: database ")} } }`,
  `{ ${Array.from({ length: 29 }, (_, at) => `a${at}n#: __typename`).join(" ")} ... on Query { ${"__typename ".repeat(15)} } }`,
  `{ ...f0 } ${Array.from({ length: 49 }, (_, at) => `fragment f${at} on Query { b#: __typename ${at < 48 ? `...f${at + 1}` : ""} }`).join(" ")}`,
].map((query) => JSON.stringify({ query }));

/** Sends fast-path reads and `/livez` to the API, alone and during attacks. */
export async function runAttacks(options: AttackOptions, say: (line: string) => void): Promise<Phase[]> {
  const [postgresPort = 0, port = 0] = await freePorts(2);
  const postgres = await startPostgres(options.dir, postgresPort);
  const children: ChildProcess[] = [];
  const client = new pg.Client({ connectionString: postgres.url });
  client.on("error", () => undefined);
  try {
    const size = { tokens: options.tokens, contracts: 2, accounts: Math.ceil(options.tokens / 20) };
    const done = join(options.dir, "generated.json");
    if (!existsSync(done) || readFileSync(done, "utf8") !== JSON.stringify(size)) {
      await generate(postgres.url, size, say);
      writeFileSync(done, JSON.stringify(size));
    }
    const key = randomUUID();
    const env = {
      ...{
        PATH: process.env["PATH"],
        KEY_PEPPER: "of the tests",
        DATABASE_URL: postgres.url,
        PORT: String(port),
        MINTYARD_API_KEY: key,
      },
      ...{ MINTYARD_DATA_DIR: join(options.dir, "service"), LOG_LEVEL: "error" },
      // As in `npm start`: half of the cores that the database shares with everything else, at a lower priority.
      ...{ MAX_HEAVY_READS: String(Math.max(1, Math.floor(availableParallelism() / 2))) },
      ...{ HEAVY_READS_LOW_PRIORITY: "true" },
      ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337" },
    };
    await start(children, "../../src/processes/api.ts", env);
    await client.connect();
    const { rows } = await client.query(
      "SELECT address, token_count FROM nft.contracts ORDER BY token_count DESC LIMIT 1",
    );
    const contract = `0x${rows[0].address.toString("hex")}`;
    say(`one contract has ${rows[0].token_count} tokens`);
    const reads = await fastPathReads(client, contract, key);
    const probe = (name: string, attacks: Attack[]) =>
      measure({ name, attacks, port, reads, client, children, options });
    // Warms up until the code is compiled.
    await probe("warm", []);
    const all = attacksOn(contract, key);
    const phases: Phase[] = options.compared ? [await probe("quiet", [])] : [];
    for (const one of all.filter(({ name }) => options.alone.includes(name))) phases.push(await probe(one.name, [one]));
    const own = all.filter(({ name }) => !["status", "eligibility"].includes(name));
    if (options.compared) phases.push(await probe(own.map(({ name }) => name).join(", "), own));
    phases.push(await probe("all together", all));
    if (options.compared) phases.push(await probe("quiet again", []));
    return phases;
  } finally {
    await client.end().catch(() => undefined);
    for (const child of children) child.kill("SIGKILL");
    await postgres.stop();
  }
}

/** BENCH_API_FLAGS: further Node flags, for profiling. */
export async function start(children: ChildProcess[], file: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, file), [], {
    env,
    execArgv: [...nodeFlags, ...(process.env["BENCH_API_FLAGS"]?.split(" ") ?? [])],
  });
  children.push(child);
  // CPU time of a start is not part of any figure.
  await new Promise<void>((ready, failed) => {
    child.once("message", () => ready());
    child.once("exit", (code) => failed(new Error(`${file} ended with code ${code}`)));
  });
  return child;
}

interface Read {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/** Account pages and single tokens, over both APIs. */
export async function fastPathReads(client: pg.Client, contract: string, key: string): Promise<Read[]> {
  const { rows: owners } = await client.query(
    "SELECT owner FROM nft.account_totals WHERE holding_count BETWEEN 5 AND 200 ORDER BY owner LIMIT 20",
  );
  const { rows: tokens } = await client.query(
    "SELECT token_id FROM nft.tokens WHERE supply > 0 AND contract = $1 LIMIT 20",
    [Buffer.from(contract.slice(2), "hex")],
  );
  const graphql = (query: string, variables: unknown): Read => ({
    ...{ method: "POST", path: "/graphql", body: JSON.stringify({ query, variables }) },
    headers: { Authorization: key, "Content-Type": "application/json" },
  });
  const page = `query ($a: Address!) { account(address: $a) { nfts(chain: "goerli", first: 20) { nodes { tokenId name metadata } totalCount } } }`;
  const one = `query ($c: Address!, $t: TokenId!) { nft(chain: "goerli", contract: $c, tokenId: $t) { tokenId owner name } }`;
  return [
    ...owners.map(({ owner }) => graphql(page, { a: `0x${owner.toString("hex")}` })),
    ...tokens.map(({ token_id: t }) => graphql(one, { c: contract, t })),
    ...tokens.map(({ token_id: t }) => ({
      ...{ method: "GET", path: `/v0/nfts/${contract}/${t}?chain=goerli`, headers: { Authorization: key } },
    })),
  ];
}

/** Fast-path reads and requests to `/livez` start at a steady rate, however long earlier ones take. */
const readEveryMs = 20;
const lookEveryMs = 25;

/** Sends `reads` and requests to `/livez` at a steady rate for one phase, during attacks if there are any. */
export async function measure(run: {
  name: string;
  attacks: Attack[];
  port: number;
  reads: Read[];
  client: pg.Client;
  children: ChildProcess[];
  options: Pick<AttackOptions, "seconds">;
}): Promise<Phase> {
  const { name, attacks, port, reads, client, children, options } = run;
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const honest = new Samples();
  const livez = new Samples();
  let heavy = 0;
  const nice = new Map<number, number>();
  const attackers = attacks.length > 0 ? await start(children, "attackers.ts", { PATH: process.env["PATH"] }) : null;
  attackers?.send({ port, attacks });
  const open: Promise<unknown>[] = [];
  let next = 0;
  const read = () => open.push(honest.take(ask(port, agent, reads[next++ % reads.length] as Read)));
  const look = () => open.push(livez.take(ask(port, agent, { method: "GET", path: "/livez", headers: {} })));
  const count = async () => {
    const { rows } = await client.query(
      "SELECT pid FROM pg_stat_activity WHERE application_name LIKE '%-heavy' AND state = 'active'",
    );
    heavy = Math.max(heavy, rows.length);
    for (const { pid } of rows) nice.set(pid, niceOf(pid));
  };
  const timers = [
    setInterval(read, readEveryMs),
    setInterval(look, lookEveryMs),
    setInterval(() => open.push(count()), 100),
  ];
  await sleep(options.seconds * 1_000);
  for (const timer of timers) clearInterval(timer);
  await Promise.allSettled(open);
  agent.destroy();
  const { outcomes, cpuMs } = attackers ? await ended(attackers, port) : { outcomes: {}, cpuMs: 0 };
  // Work that the attackers left behind ends by itself.
  if (attackers) await sleep(6_000);
  return {
    name,
    honest: honest.sum(),
    livez: livez.sum(),
    outcomes,
    heavy,
    heavyNice: [...nice.values()].filter((one) => !Number.isNaN(one)),
    attackerCores: cpuMs / options.seconds / 1_000,
  };
}

/** NaN: the process has ended. */
function niceOf(pid: number): number {
  try {
    return getPriority(pid);
  } catch {
    return Number.NaN;
  }
}

function ended(attackers: ChildProcess, port: number): Promise<Attacked> {
  return new Promise((done) => {
    attackers.once("message", (said) => done(said as Attacked));
    attackers.send({ port, attacks: null });
  });
}

function ask(port: number, agent: Agent, { method, path, headers, body }: Read): Promise<boolean> {
  return new Promise((done) => {
    const outgoing = request({ port, host: "127.0.0.1", method, path, headers, agent }, (answer) => {
      answer.resume();
      answer.once("end", () => done(answer.statusCode === 200));
      answer.once("error", () => done(false));
    });
    outgoing.once("error", () => done(false));
    outgoing.end(body);
  });
}

class Samples {
  readonly #taken: number[] = [];
  #failed = 0;

  async take(answer: Promise<boolean>): Promise<void> {
    const started = performance.now();
    if (!(await answer)) this.#failed += 1;
    this.#taken.push(performance.now() - started);
  }

  sum(): Latencies {
    const sorted = this.#taken.toSorted((a, b) => a - b);
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p99: at(0.99), most: sorted.at(-1) ?? 0, count: sorted.length, failed: this.#failed };
  }
}
