import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePorts } from "../../src/free-port.ts";
import { ponderEnvironment, ponderFolder, ponderNodeOptions } from "../../src/indexing/ponder-process.ts";

export interface Variant {
  name: string;
  /** Ponder's root, and its configuration file relative to that. */
  root: string;
  config: string;
  env: Record<string, string>;
}

const here = import.meta.dirname;
export const ours: Variant = {
  name: "ledger and triggers",
  root: join(here, "../../indexer"),
  config: "../ponder.config.ts",
  env: ponderEnvironment,
};
export const upserts: Variant = {
  name: "upserts through the store",
  root: join(here, "upserts"),
  config: "ponder.config.ts",
  env: {},
};

export interface PonderRun {
  /** Seconds from its first event until it was ready. */
  seconds: number;
  /** CPU time that the process used for that, in seconds. */
  cpuSeconds: number;
  /** Highest resident memory of the process so far, in MB. */
  peakMb(): number;
  stop(): Promise<void>;
}

/** Runs one variant until it reports that it is ready. */
export async function runPonder(
  variant: Variant,
  schema: string,
  settings: Record<string, unknown>,
): Promise<PonderRun> {
  const [port = 0] = await freePorts(1);
  const command = [
    // BENCH_NODE_ARGS="--cpu-prof --cpu-prof-dir=/tmp/profiles" shows where Ponder's process spends its time.
    ...(process.env["BENCH_NODE_ARGS"]?.split(" ") ?? []),
    // Both get the options that make Ponder itself faster, so they differ only in what is written.
    ...[...ponderNodeOptions, join(ponderFolder(), "dist/esm/bin/ponder.js")],
    ...["--root", variant.root, "--config", variant.config, "--log-format", "json"],
    ...["start", "--schema", schema, "-p", String(port), "-H", "127.0.0.1"],
  ];
  const env = {
    DATABASE_URL: String(settings["databaseUrl"]),
    MINTYARD_PONDER: JSON.stringify(settings),
    NODE_ENV: "production",
    ...variant.env,
  };
  const cwd = mkdtempSync(join(tmpdir(), "mintyard-bench-"));
  const child = spawn(process.execPath, command, { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<void>((done) => child.once("exit", () => done()));
  let started = 0;
  let cpuAtStart = 0;
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    if (process.env["VERBOSE"]) process.stderr.write(`${performance.now().toFixed(0)} ${line.slice(0, 300)}\n`);
    if (started > 0 || !line.includes("Started backfill indexing")) return;
    started = performance.now();
    cpuAtStart = cpuSeconds(child.pid);
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Ponder ended:\n${lines.slice(-10).join("\n")}`);
    const ready = await fetch(`http://127.0.0.1:${port}/ready`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) break;
    await new Promise((done) => setTimeout(done, 10));
  }
  const seconds = (performance.now() - started) / 1000;
  return {
    seconds,
    cpuSeconds: cpuSeconds(child.pid) - cpuAtStart,
    peakMb: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
    async stop() {
      child.kill("SIGINT");
      const timer = setTimeout(() => child.kill("SIGKILL"), 8_000);
      await exited;
      clearTimeout(timer);
    },
  };
}

function cpuSeconds(pid: number | undefined): number {
  const [user = "", system = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11) ?? [];
  return (Number(user) + Number(system)) / 100;
}
