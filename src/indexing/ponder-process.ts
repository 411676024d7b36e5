import { type ChildProcess, spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { findPackageJSON, getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Chain, operatorsOf } from "../chains.ts";
import { letHeapGrow, returnMemory } from "../compact-heap.ts";
import type { Config } from "../config/config.ts";
import { freePorts } from "../free-port.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";

export type PonderProcess = Awaited<ReturnType<typeof startPonder>>;

interface PonderExit {
  code: number | null;
  signal: string | null;
  /** The last lines that it logged above level info, for an error message. */
  lastWords: string[];
}

/** The message that starts the prepared process; see ponder-host.ts. */
export interface PonderOrder {
  type: "start";
  directory: string;
  args: readonly string[];
  env: Record<string, string>;
}

let prepared: ChildProcess | null = null;

/** Spawns a Ponder process ahead of `startPonder`, which uses it. It loads code that needs no chain and no database. */
export function preparePonder(): void {
  prepared ??= spawnPonder();
}

function takePonder(): ChildProcess {
  const ready = prepared?.exitCode === null && prepared.signalCode === null ? prepared : null;
  prepared = null;
  return ready ?? spawnPonder();
}

function spawnPonder(): ChildProcess {
  const cache = getCompileCacheDir();
  const child = spawn(process.execPath, [...ponderNodeOptions, "--import", guards, hostScript], {
    // Nothing is inherited: Ponder runs third-party packages and needs none of our keys. It would also prefer PORT and
    // DATABASE_PRIVATE_URL to its arguments.
    env: {
      NODE_ENV: "production",
      ...(cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {}),
      ...returnMemory,
      ...ponderEnvironment,
    },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  // `startPonder` handles the error.
  child.on("error", () => undefined);
  return child;
}

/**
 * Starts Ponder on one chain and one schema. It ends by itself when this process dies, or the database does.
 *
 * @param nodes the gateway's URLs, for requests and for announced heads.
 */
export async function startPonder(
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
  chain: Chain,
  nodes: { url: string; wsUrl: string },
  { schema, salt }: { schema: string; salt: string },
  log: Logger,
) {
  // Ponder neither reads nor writes in this folder. In the caller's folder it would read a `.env.local`.
  const directory = join(dataDir, "indexer", chain.name);
  await mkdir(directory, { recursive: true });
  const [port = 0] = await freePorts(1);
  // This process relays Ponder's requests to the nodes, so its heap has to grow too.
  letHeapGrow();
  const child = takePonder();
  const { lostTrack, lastWords } = followLog(child, log);
  const exited = new Promise<PonderExit>((done) => {
    child.once("error", (error) => done({ code: null, signal: null, lastWords: [error.message] }));
    child.once("exit", (code, signal) => done({ code, signal, lastWords }));
  });
  // Read by ponder.config.ts.
  const settings = {
    chainId: chain.id,
    rpcUrl: nodes.url,
    pollingIntervalMs: 1_000,
    startBlock: chain.startBlock,
    scope: chain.indexScope,
    wsUrl: nodes.wsUrl,
    factory: chain.factory && { address: chain.factory.address, startBlock: Number(chain.factory.block) },
    operators: operatorsOf(chain).map(({ address, block }) => ({ address, startBlock: Number(block) })),
    salt,
    databaseUrl,
  };
  const env = { DATABASE_URL: databaseUrl, MINTYARD_PONDER: JSON.stringify(settings) };
  // If the process has ended already, `exited` reports that.
  const tell = (message: PonderOrder | { type: "rest" }) => child.connected && child.send(message, () => undefined);
  tell({ type: "start", directory, args: ponderArguments(schema, port), env });
  return {
    pid: child.pid ?? 0,
    exited,
    /** Resolves when Ponder logs that the chain was rolled back further than it can undo: its rows are stale then. */
    lostTrack,
    /** True once the backfill is complete and Ponder follows the chain. */
    isReady: () => answersOk(`http://127.0.0.1:${port}/ready`),
    /** Notifies it that the backfill is complete, so that it gives memory back. */
    rest: () => void tell({ type: "rest" }),
    kill: () => void child.kill("SIGKILL"),
    /** Ends it in a way that unlocks its schema; kills it after 8 s. */
    stop: async () => {
      // After SIGTERM Ponder would leave its schema locked for 25 s.
      child.kill("SIGINT");
      const late = await Promise.race([exited.then(() => false), wait(8_000, true, { ref: false })]);
      if (late) child.kill("SIGKILL");
      await exited;
    },
  };
}

const hostScript = fileURLToPath(new URL("./ponder-host.ts", import.meta.url));
const guards = new URL("./ponder-guards.ts", import.meta.url).href;

function ponderArguments(schema: string, port: number): string[] {
  const root = fileURLToPath(new URL("../../indexer", import.meta.url));
  return [
    // With its default root Ponder would execute every file below src/, including this one.
    ...["--root", root, "--config", "../ponder.config.ts", "--log-format", "json"],
    ...["start", "--schema", schema, "-p", String(port), "-H", "127.0.0.1"],
  ];
}

/**
 * A batch's events live until they are written. V8's default young generation (16 MB, less at the start) copies them
 * twice and then leaves them to a full collection; a larger one makes a backfill a tenth faster without more memory.
 * It grows within the first batches. After the backfill it is made small again and kept so (ponder-host.ts).
 */
export const ponderNodeOptions = [
  "--disable-warning=DeprecationWarning",
  "--min-semi-space-size=8",
  "--max-semi-space-size=64",
];

/** Ponder caches written rows to answer reads. Our handlers read none, so each batch is dropped. */
export const ponderEnvironment = { PONDER_CACHE_BYTES: "0" };

/** Folder of the installed Ponder package. */
export function ponderFolder(): string {
  const file = findPackageJSON("ponder", import.meta.url);
  if (!file) throw new Error("the package ponder is not installed");
  return dirname(file);
}

/** The command line of the installed Ponder. */
export function ponderBin(): string {
  return join(ponderFolder(), "dist/esm/bin/ponder.js");
}

const warnLevel = 40;

function followLog(child: ChildProcess, log: Logger) {
  const lastWords: string[] = [];
  const logOnce = new LogOnce(log);
  const { promise: lostTrack, resolve } = Promise.withResolvers<void>();
  const take = (line: string) => {
    const { level: given, time: _, msg, ...context } = parseLine(line);
    // The placeholder in ponder.config.ts has no handlers on purpose, so the warning about it is ignored.
    const level = context["name"] === "BuildSalt" ? 0 : given;
    if (level >= warnLevel) lastWords.splice(0, lastWords.length - 4, `${msg} ${reasonOf(context)}`.trim());
    // While a node is away Ponder logs a warning for each request.
    if (level >= warnLevel) logOnce.write("warn", `${msg} ${reasonOf(context)}`, { ponder: context }, msg);
    else log.debug({ ponder: context }, msg);
    if (msg === "Encountered unrecoverable reorg") resolve();
  };
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on("line", take);
  return { lostTrack, lastWords };
}

function parseLine(line: string): Record<string, unknown> & { level: number; msg: string } {
  try {
    return JSON.parse(line);
  } catch {
    return { level: warnLevel, msg: line };
  }
}

function reasonOf(context: Record<string, unknown>): string {
  const error = context["error"];
  return typeof error === "object" && error !== null && "message" in error ? String(error.message) : "";
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
