import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";
import { stackProcesses } from "../../bench/start/proportional-memory.ts";
import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { freePorts } from "../../src/free-port.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { Client } from "../setup/client.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";
import { boundMb, restUntilSmall } from "./memory-at-rest.ts";

/** From the signal until the last process of the stack is gone. */
const boundMs = 10_000;
const targets = {
  npm: /^npm start/,
  bootstrap: /^\S*node \S*bootstrap\.mjs /,
  launcher: /^\S*node .*bin\/mintyard\.ts start$/,
};
type Target = keyof typeof targets | "group";
/**
 * The whole service, once for each way in which its parts end: in order, all told at once, as a terminal does with Ctrl-C, and each
 * for itself, because nobody is left who tells them. That a start goes on after the last is in processes.long.test.ts.
 */
const whole = [
  ["SIGTERM", "npm"],
  ["SIGINT", "group"],
  ["SIGKILL", "launcher"],
] as const;
/**
 * The other ways in which the launcher learns of it; from there on all is as after SIGTERM to npm, so without chain and index. Its
 * channel closes, the bootstrap hands a signal on, the bootstrap sees that npm is gone, and a terminal is closed. A signal to
 * the launcher alone is in processes.long.test.ts. There is no shell between npm and the bootstrap, which takes its place.
 */
const small = [
  ["SIGKILL", "bootstrap"],
  ["SIGTERM", "bootstrap"],
  ["SIGKILL", "npm"],
  ["SIGHUP", "group"],
] as const;

const root = join(import.meta.dirname, "../..");
const key = randomUUID();
const dir = temporaryFolder();
const smallDir = temporaryFolder();
const [port = 0] = await freePorts(1);
let blocks = 0n;
let token = "";
afterAll(async () => {
  for (const folder of [dir, smallDir]) for (const { pid } of stackProcesses(folder)) process.kill(pid, "SIGKILL");
});

interface Started {
  npm: ChildProcess;
  ready: ReadyInfo;
  lines: string[];
}

async function startByNpm(folder = dir, env: Record<string, string> = {}): Promise<Started> {
  const npm = spawn("npm", ["start"], {
    cwd: root,
    env: {
      ...bareEnvironment,
      HOME: process.env["HOME"],
      PORT: String(port),
      MINTYARD_DATA_DIR: folder,
      MINTYARD_API_KEY: key,
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, as a terminal gives it to a command.
    detached: true,
  });
  const lines: string[] = [];
  const ready = await new Promise<ReadyInfo>((done, failed) => {
    for (const stream of [npm.stdout, npm.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        if (line.startsWith("MINTYARD_READY ")) done(JSON.parse(line.slice("MINTYARD_READY ".length)) as ReadyInfo);
      });
    npm.once("exit", () => failed(new Error(`the start failed:\n${lines.slice(-30).join("\n")}`)));
  });
  return { npm, ready, lines };
}

async function rpc(url: string, method: string): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: [] });
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
  return ((await response.json()) as { result: unknown }).result;
}

/** What earlier starts wrote is there, and more is written for the next one to find. */
async function checkAndWrite({ ready }: Started): Promise<void> {
  const client = new Client(ready, key);
  expect((await client.get("/nfts?chain=goerli")).status).toBe(200);
  const url = ready.rpcUrl ?? "";
  // The first start sends four transactions: money of the wallet, factory, operator, contract of easy mints.
  expect(BigInt(String(await rpc(url, "eth_blockNumber")))).toBe(blocks === 0n ? 4n : blocks);
  if (token) expect((await new Client(ready, token).get("/nfts?chain=goerli")).status).toBe(200);
  else {
    const { status, body } = await client.json("/signup", { name: "studio" });
    expect(status).toBe(200);
    token = String(body["api_key"]);
  }
  await rpc(url, "evm_mine");
  blocks = BigInt(String(await rpc(url, "eth_blockNumber")));
}

/** What runs under a number now; empty when nothing does, or what did has ended. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "";
  }
}

/** Pids with what they run, so that a number that is given out again is not taken for the process before. */
function family(folder = dir): Map<number, string> {
  return new Map(stackProcesses(folder).map(({ pid, command }) => [pid, command]));
}

/** Sends the signal, and waits until nothing of what ran is left. */
async function end(started: Started, folder: string, signal: NodeJS.Signals, target: Target): Promise<void> {
  const before = family(folder);
  expect([...before.values()].filter((command) => command.includes("postgres"))).not.toEqual([]);
  const heard = started.lines.length;
  if (target === "group") process.kill(-Number(started.npm.pid), signal);
  else {
    const [victim] = [...before].find(([, command]) => targets[target].test(command)) ?? [];
    if (!victim) throw new Error(`${target} does not run`);
    process.kill(victim, signal);
  }
  // Ponder has nothing of the folder in its environment: without its indexer only its number finds it.
  const left = () =>
    [...new Map([...before, ...family(folder)])].filter(([pid, command]) => commandOf(pid) === command);
  await wait("the end of all processes", left, { until: (now) => now.length === 0, withinMs: boundMs });
  // An end in order leaves neither, and a killed launcher's server goes after its clients.
  if (signal !== "SIGKILL") {
    expect(existsSync(join(folder, "environment.json"))).toBe(false);
    expect(existsSync(join(folder, "postgres/data/postmaster.pid"))).toBe(false);
  }
  expect(started.lines.slice(heard).filter((line) => line.includes("restarting it"))).toEqual([]);
}

/** The start of the test before, which is this one's. */
let first: Started | null = null;

test("the whole service on embedded parts holds at most 0.9 GB at rest", async () => {
  first = await startByNpm();
  const total = await restUntilSmall(dir);
  console.info(`${total.toFixed(0)} MB at rest`);
  expect(total).toBeLessThan(boundMb);
});

test.each(whole)("%s to the %s leaves nothing behind, and the next start goes on", async (signal, target) => {
  const started = first ?? (await startByNpm());
  first = null;
  await checkAndWrite(started);
  expect([...family().values()].filter((command) => command.includes("ponder-host.ts"))).not.toEqual([]);
  expect(started.lines.filter((line) => line.includes("restarting it"))).toEqual([]);
  await end(started, dir, signal, target);
});

test.each(small)("%s to the %s leaves nothing of a service without a chain", async (signal, target) => {
  const started = await startByNpm(smallDir, { MINTYARD_LOCAL_CHAINS: "" });
  const { status } = await new Client(started.ready, key).graphql("{ viewer { id } }");
  expect(status).toBe(200);
  await end(started, smallDir, signal, target);
});
