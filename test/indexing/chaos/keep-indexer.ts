import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { bareEnvironment } from "../../setup/bare-environment.ts";

/** Starts the launcher again whenever it ends, as the supervisor of an installation does. */
export function keepIndexer(
  databaseUrl: string,
  rpcUrl: string,
  directory: string,
  chainId = 31337,
  more: Record<string, string> = {},
) {
  let child: ChildProcess | null = null;
  let stopping = false;
  let words = "";
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  const start = () => {
    if (stopping) return;
    const env = {
      ...bareEnvironment,
      PATH: "",
      DATABASE_URL: databaseUrl,
      MINTYARD_DATA_DIR: directory,
      RPC_URL_GOERLI: rpcUrl,
      CHAIN_ID_GOERLI: String(chainId),
      LOCAL_GOERLI: "true",
      LOG_LEVEL: process.env["CHAOS_LOG"] ? "debug" : "warn",
      ...more,
    };
    const started = spawn(process.execPath, ["src/processes/indexer.ts", "--chain", "goerli"], {
      env,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    child = started;
    started.stderr?.on("data", (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-4_000);
      if (process.env["CHAOS_LOG"]) appendFileSync(process.env["CHAOS_LOG"], chunk);
    });
    started.once("message", () => resolve());
    started.once("exit", () => setTimeout(start, 200));
  };
  start();
  return {
    untilReady: () => ready,
    lastWords: () => words,
    kill: async (which: "ponder" | "launcher") => {
      const pid = which === "launcher" ? child?.pid : await childOf(child?.pid ?? 0);
      if (!pid) return false;
      try {
        return process.kill(pid, "SIGKILL");
      } catch {
        return false;
      }
    },
    stop: async () => {
      stopping = true;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function childOf(parent: number): Promise<number | null> {
  if (parent === 0) return null;
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/status`, "utf8").catch(() => "");
    if (status.includes(`\nPPid:\t${parent}\n`)) return Number(entry);
  }
  return null;
}
