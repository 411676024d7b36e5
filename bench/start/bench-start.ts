// How long `npm start` takes, part by part, and what the idle stack uses: memory, CPU time, transactions.
//   npm run -s mintyard -- dev bench start [runs]      default: 5 starts in an empty folder and 5 in an existing one
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { DataFolder } from "../../src/embedded/data-folder.ts";
import { freePorts } from "../../src/free-port.ts";
import { proportionalMemory, stackProcesses } from "./proportional-memory.ts";

const root = join(import.meta.dirname, "../..");
const runs = Number(process.argv[2] ?? 5);
/** Heaps are compacted ten seconds after the start, idle connections end after thirty; then young generations fill. */
const restMs = 90_000;
const watchedMs = 60_000;

interface Start {
  /** From the command to the ready line, in seconds. */
  seconds: number;
  /** Seconds from the launcher's start until each part was ready. */
  parts: Map<string, number>;
}

/** Starts the stack as an operator does, runs `atRest`, and stops the stack. */
async function start(folder: string, atRest?: (databaseUrl: string) => Promise<void>): Promise<Start> {
  const [port = 0] = await freePorts(1);
  const began = performance.now();
  const child = spawn("npm", ["start"], {
    cwd: root,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PORT: String(port), MINTYARD_DATA_DIR: folder },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const parts = new Map<string, number>();
  let databaseUrl = "";
  const seconds = await new Promise<number>((ready, failed) => {
    const words: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        words.push(line);
        const [, part, after] = /^mintyard: (\S+) +([\d.]+) s {2}ready$/.exec(line) ?? [];
        if (part) parts.set(part, Number(after));
        if (!line.startsWith("MINTYARD_READY ")) return;
        databaseUrl = DataFolder.environmentOf(folder)?.["DATABASE_URL"] ?? "";
        ready((performance.now() - began) / 1_000);
      });
    void ended.then(() => failed(new Error(`the start failed:\n${words.slice(-20).join("\n")}`)));
  });
  await atRest?.(databaseUrl);
  child.kill("SIGTERM");
  await ended;
  while (stackProcesses(folder).length > 0) await wait(100);
  return { seconds, parts };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function print(title: string, starts: readonly Start[]): void {
  const all = starts.map(({ seconds }) => seconds);
  process.stdout.write(
    `\n${title}: ready after ${median(all).toFixed(1)} s (${all.map((s) => s.toFixed(1)).join(", ")})\n`,
  );
  for (const part of starts[0]?.parts.keys() ?? []) {
    const times = starts.map(({ parts }) => parts.get(part) ?? Number.NaN);
    process.stdout.write(`  ${part.padEnd(20)} ${median(times).toFixed(1).padStart(5)} s\n`);
  }
}

/** Prints what the stack uses while it gets no requests. */
async function printRest(folder: string, databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const transactions = async () => {
    const { rows } = await client.query(
      "SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()",
    );
    return Number(rows[0].count);
  };
  const ofPid = new Map(proportionalMemory(folder).map(({ pid, processorSeconds }) => [pid, processorSeconds]));
  const [count, began] = [await transactions(), performance.now()];
  await wait(watchedMs);
  const seconds = (performance.now() - began) / 1_000;
  const perMinute = (((await transactions()) - count) * 60) / seconds;
  await client.end();
  const rest = proportionalMemory(folder).map(({ pid, command, megabytes, processorSeconds }) => ({
    ...{ command, megabytes },
    percent: ((processorSeconds - (ofPid.get(pid) ?? 0)) / seconds) * 100,
  }));
  const sum = (of: (one: (typeof rest)[0]) => number) => rest.reduce((total, one) => total + of(one), 0);
  process.stdout.write(
    `\nat rest: ${sum(({ megabytes }) => megabytes).toFixed(0)} MB and ${sum(({ percent }) => percent).toFixed(1)} % ` +
      `of a core in ${rest.length} processes, ${perMinute.toFixed(0)} transactions a minute\n`,
  );
  for (const { command, megabytes, percent } of rest)
    process.stdout.write(
      `  ${megabytes.toFixed(0).padStart(5)} MB ${percent.toFixed(2).padStart(6)} %  ${nameOf(command)}\n`,
    );
}

/** The part of a command line that identifies the program. */
function nameOf(command: string): string {
  return (/[\w-]+\.(?:ts|mjs|js)\b(?!.*[\w-]+\.(?:ts|mjs|js)\b).*/.exec(command)?.[0] ?? command).slice(0, 90);
}

const folders: string[] = [];
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "mintyard-bench-start-"));
  folders.push(folder);
  return folder;
};
try {
  process.stdout.write(
    `load before: ${loadavg()
      .map((value) => value.toFixed(2))
      .join(" ")}\n`,
  );
  const empty: Start[] = [];
  for (let run = 0; run < runs; run += 1) empty.push(await start(newFolder()));
  print("empty folder", empty);
  const existing: Start[] = [];
  const [folder = newFolder()] = folders;
  for (let run = 0; run < runs; run += 1) existing.push(await start(folder));
  print("existing folder", existing);
  await start(folder, async (databaseUrl) => {
    await wait(restMs);
    await printRest(folder, databaseUrl);
  });
  process.stdout.write(
    `load after: ${loadavg()
      .map((value) => value.toFixed(2))
      .join(" ")}\n`,
  );
} finally {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
