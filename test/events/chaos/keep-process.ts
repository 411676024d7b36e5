import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { bareEnvironment } from "../../setup/bare-environment.ts";

/** A process of an installation that is started again whenever it ends. */
export class KeptProcess {
  readonly #script: string;
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  #stopping = false;
  #words = "";
  kills = 0;

  /** @param script such as `src/processes/api.ts`. */
  constructor(script: string, env: Readonly<Record<string, string>>) {
    this.#script = script;
    this.#env = env;
    this.#start();
  }

  /** What it said last on stderr, for failures. */
  get lastWords(): string {
    return this.#words;
  }

  kill(): void {
    if (this.#child?.kill("SIGKILL")) this.kills += 1;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }

  #start(): void {
    if (this.#stopping) return;
    const child = spawn(process.execPath, [this.#script], {
      env: { ...bareEnvironment, ...this.#env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#child = child;
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#words = (this.#words + chunk.toString()).slice(-4_000);
    });
    child.once("exit", () => setTimeout(() => this.#start(), 200));
  }
}
