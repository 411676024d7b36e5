import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { bareEnvironment } from "./bare-environment.ts";

const sources = join(import.meta.dirname, "../../src/processes");

/** One program of the service (`api`, `worker`, `indexer`) as a process of its own. */
export class ServiceProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  /** What it wrote, the last part of it. */
  output = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((done) => child.once("exit", done));
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.output = (this.output + chunk.toString("utf8")).slice(-200_000);
      });
  }

  /** Resolves when the process says that it is ready. */
  static async start(program: string, env: Record<string, string>, args: string[] = []): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [...nodeFlags, join(sources, `${program}.ts`), ...args], {
      env: { ...bareEnvironment, HOME: process.env["HOME"] ?? "", KEY_PEPPER: "of the tests", ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      detached: program !== "api",
    });
    const started = new ServiceProcess(child);
    await new Promise<void>((ready, failed) => {
      child.once("message", () => ready());
      child.once("exit", (code) => failed(new Error(`${program} ended with code ${code}: ${started.output}`)));
    });
    return started;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends a signal and waits for the end. @returns the exit code; null after a signal that cannot be caught. */
  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    if (this.running) this.#child.kill(signal);
    return await this.#ended;
  }
}
