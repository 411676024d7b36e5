import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { CarWriter } from "@ipld/car/writer";
import { CID } from "multiformats/cid";
import * as raw from "multiformats/codecs/raw";
import { sha256 } from "multiformats/hashes/sha2";
import pg from "pg";
import { createTestClient, http } from "viem";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { loadConfig, requireOwnPepper } from "../src/config/config.ts";
import { explainFailure } from "../src/config/explain-failure.ts";
import { migrate } from "../src/db/admin/migrate.ts";
import { makeDataFolder } from "../src/processes/lifecycle.ts";
import { prepareDatabase } from "../src/processes/prepare-database.ts";
import { createLogger, redact } from "../src/telemetry/log.ts";
import type { CommandRun, Printed } from "./commands-process.ts";
import { type Mistake, mistakes, type Place } from "./mistakes.ts";
import { bareEnvironment } from "./setup/bare-environment.ts";
import { createTestDatabase, type TestDatabase } from "./setup/database.ts";
import { startTestChain, type TestChain } from "./setup/local-chain.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";
import { slowness } from "./setup/wait.ts";
import { unpackDump, unpackOlder } from "./upgrade/dump.ts";

vi.setConfig({ testTimeout: 600_000 * slowness });

const page = join(import.meta.dirname, "../docs/mistakes.md");
let database: TestDatabase;
let chain: TestChain;
let lateChain: TestChain;
const dir = temporaryFolder();
let taken: Server;
let place: Place;
const login = `owner_${process.pid}`;

beforeAll(async () => {
  [database, chain, lateChain] = await Promise.all([
    createTestDatabase(),
    startTestChain(31_337),
    startTestChain(31_337),
  ]);
  await writeFile(join(dir, "file"), "");
  taken = createServer();
  await new Promise<void>((done) => taken.listen(0, "127.0.0.1", done));
  const { pool } = database;
  // Another database of the server may have made it, or not.
  await pool.query(
    "DO $$ BEGIN CREATE ROLE mintyard_analyst NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$",
  );
  await pool.query(`CREATE ROLE ${login} LOGIN NOSUPERUSER PASSWORD 'right'`);
  await pool.query(`CREATE ROLE ${login}_other LOGIN NOSUPERUSER PASSWORD 'right'`);
  await pool.query(`CREATE ROLE ${login}_reader LOGIN NOSUPERUSER PASSWORD 'right'`);
  await pool.query(`ALTER ROLE ${login}_reader SET default_transaction_read_only = on`);
  await pool.query(`CREATE DATABASE ${login} OWNER ${login}`);
  const own = new URL(database.url);
  own.username = login;
  own.password = "right";
  own.pathname = `/${login}`;
  const port = (taken.address() as AddressInfo).port;
  const { cid, car } = await oneFile("stored");
  place = { dir, login, databaseUrl: own.href, rpcUrl: chain.url, takenPort: port, lateRpcUrl: lateChain.url, cid };
  // The first start makes the schema.
  const { code, answer } = await run(["bin/mintyard.ts", "keys", "create", "--name", "first"], {});
  if (code !== 0) throw new Error(answer);
  await prepareDatabase(own.href, createLogger("test", "silent"));
  await mkdir(join(dir, "held"));
  await writeFile(join(dir, "held", "manifest.json"), '{"migrations":[],"tables":[]}');
  for (const name of ["used", "newer"]) {
    await pool.query(`CREATE DATABASE ${login}_${name} OWNER ${login}`);
    await migrate(urlOf(name));
  }
  const newer = new pg.Client({ connectionString: urlOf("newer") });
  await newer.connect();
  await newer.query("INSERT INTO service.migration (name, digest) VALUES ('9999_next.breaking.sql', 'x')");
  await newer.end();
  await unpackOlder(join(dir, "older"));
  const manifest = await unpackDump("0.2.0", join(dir, "newer"));
  manifest.migrations.push({ name: "9999_next.sql", digest: "x" });
  await writeFile(join(dir, "newer", "manifest.json"), JSON.stringify(manifest));
  await writeFile(join(dir, "one.car"), car);
  const imported = await run(["bin/mintyard.ts", "import", join(dir, "one.car")], {});
  if (imported.code !== 0) throw new Error(imported.answer);
  // Whatever is written there finds no room.
  await symlink("/dev/full", join(dir, "full.part"));
  const late = createTestClient({ mode: "hardhat", transport: http(lateChain.url) });
  await late.setNextBlockTimestamp({ timestamp: BigInt(Math.round(Date.now() / 1_000) + 3_600) });
  await late.mine({ blocks: 1 });
});

const urlOf = (name: string) => {
  const url = new URL(place.databaseUrl);
  url.pathname = `/${login}_${name}`;
  return url.href;
};

/** The archive of one file. */
async function oneFile(text: string): Promise<{ cid: string; car: Uint8Array }> {
  const bytes = new TextEncoder().encode(text);
  const cid = CID.createV1(raw.code, await sha256.digest(bytes));
  const { writer, out } = CarWriter.create([cid]);
  const car = (async () => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of out) chunks.push(chunk);
    return Buffer.concat(chunks);
  })();
  await writer.put({ cid, bytes });
  await writer.close();
  return { cid: cid.toString(), car: await car };
}
afterAll(async () => {
  taken?.close();
  await Promise.all([chain?.stop(), lateChain?.stop()]);
  for (const what of [
    `DATABASE IF EXISTS ${login} WITH (FORCE)`,
    `DATABASE IF EXISTS ${login}_used WITH (FORCE)`,
    `DATABASE IF EXISTS ${login}_newer WITH (FORCE)`,
    `ROLE ${login}`,
    `ROLE ${login}_other`,
    `ROLE ${login}_reader`,
  ])
    await database?.pool.query(`DROP ${what}`).catch(() => undefined);
  await database?.drop();
});

/** The environment of an installation that works, and the mistake in it. */
const environmentWith = (wrong: Record<string, string>) => ({
  ...bareEnvironment,
  NODE_ENV: "production",
  KEY_PEPPER: "a long text of this test",
  DATABASE_URL: place.databaseUrl,
  MINTYARD_DATA_DIR: join(dir, "data"),
  RPC_URL_BASE: place.rpcUrl,
  CHAIN_ID_BASE: "31337",
  PORT: "0",
  ...wrong,
});

/** What a program of the service says before it does anything else, and at which step; null when it gets beyond. */
async function earlyFault({ args: [program, chain], wrong }: Mistake): Promise<{ step: string; said: string } | null> {
  if (!program?.startsWith("src/processes/") || (program === "src/processes/indexer.ts" && !chain)) return null;
  let step = "settings";
  try {
    const config = loadConfig(environmentWith(wrong));
    if (program === "src/processes/api.ts") requireOwnPepper(config);
    step = "database";
    if (program !== "src/processes/indexer.ts") makeDataFolder(config.dataDir);
    await prepareDatabase(config.databaseUrl, createLogger("test", "silent"), config.databaseFailover);
    return null;
  } catch (error) {
    // As its last line has it.
    return { step: `${step} of ${program}`, said: asShown(redact(explainFailure(error, environmentWith(wrong)), [])) };
  }
}

/** How a program ended, and what the operator reads. */
interface Ended {
  code: number | null;
  answer: string;
}

/** Runs a program with the mistake. */
async function run(args: readonly string[], wrong: Record<string, string>, finding?: string): Promise<Ended> {
  const child: ChildProcess = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: environmentWith(wrong),
  });
  let words = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    words += chunk;
  });
  let printed = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    printed += chunk;
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), 120_000 * slowness);
  const code = await new Promise<number | null>((done) => child.once("close", done));
  clearTimeout(timer);
  return { code, answer: finding ? found(printed, finding) : lastAnswer(words) };
}

/** Commands with their mistakes, by one process: most of what a command takes is its start. */
async function runCommands(all: readonly Mistake[]): Promise<Ended[]> {
  const runs = all.map(({ args, wrong }): CommandRun => ({ words: args.slice(1), env: environmentWith(wrong) }));
  const { stdout } = await promisify(execFile)(process.execPath, ["test/commands-process.ts", JSON.stringify(runs)], {
    env: bareEnvironment,
    timeout: 300_000 * slowness,
  });
  const printed = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Printed[];
  return all.map(({ finding }, at) => {
    const { code, stdout, stderr } = printed[at] as Printed;
    return { code, answer: finding ? found(stdout, finding) : lastAnswer(stderr) };
  });
}

/** Node reads its own options when it starts. */
const isCommand = ({ args, wrong }: Mistake) => args[0] === "bin/mintyard.ts" && wrong["NODE_OPTIONS"] === undefined;

/** What `doctor` says of one check that fails. */
function found(printed: string, id: string): string {
  const [, title, fix] = new RegExp(`FAIL ${id} (.*): \\d+ faults\\n(?: {9}.*\\n)* {7}fix: (.*)`).exec(printed) ?? [];
  return title ? `${id}: ${title.replace(/\b3\d\d\d s/, "3600 s")}; ${fix}` : printed;
}

/** What the operator reads: the last line, without its JSON. Below it a command prints how it is used. */
function lastAnswer(words: string): string {
  const lines = words
    .split("\nusage:")[0]
    ?.trim()
    .split("\n")
    .filter((line) => !line.includes('"level":40'));
  // A command names itself; how it is used may stand below.
  const last = lines?.findLast((line) => line.startsWith("mintyard ")) ?? lines?.at(-1) ?? "";
  return asShown(
    last.startsWith("{") ? String((JSON.parse(last) as { msg: string }).msg) : last.replace(/^mintyard [a-z ]+: /, ""),
  );
}

/** With the places of the table in place of this run's. */
function asShown(said: string): string {
  const { port } = new URL(place.databaseUrl);
  return said
    .replaceAll(dir, "/srv")
    .replaceAll(place.login, "mintyard")
    .replaceAll(`:${port}`, ":5432")
    .replaceAll(String(place.takenPort), "3000")
    .replaceAll(new URL(place.rpcUrl).host, "127.0.0.1:8545")
    .replace(/0x(?!ab)[0-9a-f]{64}/, `0x${"cd".repeat(32)}`)
    .replace(/takes up to [\d.]+: send it at least [\d.]+/, "takes up to 0.008: send it at least 0.009");
}

test("each mistake of an operator gets one sentence that names the setting and what to do", async () => {
  const all = mistakes(place);
  const answers = new Map<Mistake, Ended>();
  const commands = all.filter(isCommand);
  const programs = all.filter((one) => !isCommand(one));
  const inOne = async () => {
    for (const [at, ended] of (await runCommands(commands)).entries()) answers.set(commands[at] as Mistake, ended);
    // That it is what a command says that runs alone.
    const [alone] = commands;
    if (alone) expect(answers.get(alone)).toEqual(await run(alone.args, alone.wrong));
  };
  /** Steps that a program was seen to end at with what is wrong: the same sentence is not waited for again. */
  const seen = new Set<string>();
  const oneByOne = async () => {
    for (let one = programs.shift(); one; one = programs.shift()) {
      const fault = await earlyFault(one);
      if (fault !== null && seen.has(fault.step)) {
        answers.set(one, { code: 1, answer: fault.said });
        continue;
      }
      if (fault !== null) seen.add(fault.step);
      const ended = await run(one.args, one.wrong, one.finding);
      if (fault !== null) expect(ended.answer).toBe(fault.said);
      answers.set(one, ended);
    }
  };
  await Promise.all([inOne(), oneByOne(), oneByOne()]);
  const rows = all.map((one) => `| ${one.mistake} | ${answers.get(one)?.answer.replaceAll("|", "\\|")} |`);
  const table = `${rows.join("\n")}\n`;
  const shown = await readFile(page, "utf8").catch(() => "");
  if (process.env["WRITE_DOCS"])
    await writeFile(page, shown.replace(/(\| --- \| --- \|\n)[\s\S]*?(\n\n|$)/, `$1${table}\n`));
  for (const one of all) {
    const { mistake } = one;
    const { code, answer } = answers.get(one) ?? { code: null, answer: "" };
    expect(code, `${mistake}: ${answer}`).toBeGreaterThan(0);
    // No stack, no JSON, no text of a library that names none of our settings.
    expect(answer, mistake).not.toMatch(/\n|^\s*at |Error:|undefined|\{"/);
    expect(answer.length, `${mistake}: ${answer}`).toBeGreaterThan(15);
    expect(answer.length, `${mistake}: ${answer}`).toBeLessThan(420);
  }
  expect(shown).toContain(table);
});
