import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DataFolder } from "../../src/embedded/data-folder.ts";
import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { freePorts } from "../../src/free-port.ts";
import { bareEnvironment } from "./bare-environment.ts";
import { wait } from "./wait.ts";

const command = join(import.meta.dirname, "../../bin/mintyard.ts");

/** `npm start` as a process of its own, the way an operator runs it. */
export class RunningStack {
  readonly ready: ReadyInfo;
  readonly dir: string;
  /** Everything the processes said, one line each. */
  readonly lines: string[];
  readonly #process: ChildProcess;

  constructor(ready: ReadyInfo, dir: string, lines: string[], child: ChildProcess) {
    this.ready = ready;
    this.dir = dir;
    this.lines = lines;
    this.#process = child;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  lastLines(count = 40): string {
    return this.lines.slice(-count).join("\n");
  }

  /** Waits until a line of the output matches. */
  async untilLine(pattern: RegExp): Promise<string> {
    const look = () => this.lines.find((line) => pattern.test(line)) ?? "";
    return await wait(`a line that matches ${pattern}`, look, { lines: () => this.lines });
  }

  /** SIGTERM; resolves with the exit code and how long it took. */
  async terminate(signal: NodeJS.Signals = "SIGTERM"): Promise<{ code: number | null; tookMs: number }> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null)
      return { code: this.#process.exitCode, tookMs: 0 };
    const started = Date.now();
    const ended = new Promise<number | null>((done) => this.#process.once("exit", done));
    this.#process.kill(signal);
    const code = await ended;
    return { code, tookMs: Date.now() - started };
  }

  /** An operator's command beside the stack, which is told nothing but the folder. */
  async command(args: readonly string[], env: Record<string, string> = {}): Promise<{ code: number; output: string }> {
    const own = { ...bareEnvironment, HOME: process.env["HOME"], MINTYARD_DATA_DIR: this.dir, ...env };
    return await new Promise((done) => {
      execFile(process.execPath, [command, ...args], { env: own }, (error, stdout, stderr) =>
        done({ code: error ? Number(error.code ?? -1) : 0, output: stdout + stderr }),
      );
    });
  }

  /** Ends the stack and removes its folder. */
  async remove(): Promise<void> {
    await this.terminate();
    await rm(this.dir, { recursive: true, force: true });
  }
}

export interface StackOptions {
  /** Folder of an earlier stack, to continue it. */
  dir?: string;
  env?: Record<string, string>;
  /** SIGTERM while it starts, once this is true of what it has said so far and of its process. */
  stopWhen?: (lines: readonly string[], pid: number) => boolean;
}

export async function startStackProcess(options: StackOptions = {}): Promise<RunningStack> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "mintyard-stack-")));
  const [port = 0] = await freePorts(1);
  const lines: string[] = [];
  const child = spawn(process.execPath, [command, "start"], {
    env: {
      ...bareEnvironment,
      HOME: process.env["HOME"],
      PORT: String(port),
      MINTYARD_DATA_DIR: dir,
      MINTYARD_API_KEY: randomUUID(),
      ...options.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (options.stopWhen) {
    const { stopWhen } = options;
    const timer = setInterval(() => {
      if (!stopWhen(lines, child.pid ?? 0)) return;
      clearInterval(timer);
      child.kill("SIGTERM");
    }, 10);
    child.once("exit", () => clearInterval(timer));
  }
  const ready = await new Promise<ReadyInfo>((done, failed) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        if (!line.startsWith("MINTYARD_READY ")) return;
        const databaseUrl = DataFolder.environmentOf(dir)?.["DATABASE_URL"] ?? "";
        done({ ...(JSON.parse(line.slice("MINTYARD_READY ".length)) as Omit<ReadyInfo, "databaseUrl">), databaseUrl });
      });
    }
    child.once("exit", (code) => failed(new Error(`start ended with code ${code}:\n${lines.slice(-40).join("\n")}`)));
  });
  return new RunningStack(ready, dir, lines, child);
}
