import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { slowness, wait } from "../setup/wait.ts";
import { ownTree } from "./mutant-tree.ts";

type Program = "api" | "worker";

/** One process of the service that comes back whenever it ends, until it is retired. */
export class Restarting {
  readonly name: string;
  readonly #program: Program;
  readonly #env: Record<string, string>;
  readonly #onLine: (line: string) => void;
  readonly #tree: string;
  #spare: ChildProcess;
  #child: ChildProcess | undefined;
  #retired = false;
  #ready: Promise<void> = Promise.resolve();
  /** It serves: started, and not on its way out. */
  up = false;
  restarts = -1;

  /** @param tree folder of the code that it runs. */
  constructor(
    name: string,
    program: Program,
    env: Record<string, string>,
    onLine: (line: string) => void,
    tree: string = ownTree,
  ) {
    this.name = name;
    this.#program = program;
    this.#env = env;
    this.#onLine = onLine;
    this.#tree = tree;
    this.#spare = this.#spawn();
    this.#launch();
  }

  get ready(): Promise<void> {
    return this.#ready;
  }

  signal(name: NodeJS.Signals): boolean {
    if (name === "SIGKILL" || name === "SIGTERM") this.up = false;
    return this.#child?.kill(name) ?? false;
  }

  async retire(): Promise<void> {
    this.#retired = true;
    this.#spare.kill("SIGKILL");
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill("SIGCONT");
    child.kill("SIGTERM");
    const impatient = setTimeout(() => child.kill("SIGKILL"), 8_000);
    await ended;
    clearTimeout(impatient);
  }

  #spawn(): ChildProcess {
    const child = spawn(process.execPath, [join(this.#tree, "test/chaos/standby.ts"), this.#program], {
      env: { ...bareEnvironment, HOME: process.env["HOME"] ?? "", ...this.#env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [child.stdout, child.stderr])
      if (stream) createInterface({ input: stream }).on("line", this.#onLine);
    return child;
  }

  #launch(): void {
    this.restarts += 1;
    const child = this.#spare;
    this.#spare = this.#spawn();
    this.#child = child;
    this.#ready = new Promise((done) => {
      child.once("message", () => {
        this.up = true;
        done();
      });
      child.once("exit", () => done());
    });
    child.once("exit", () => {
      this.up = false;
      if (this.#retired) return;
      void sleep(50).then(() => this.#retired || this.#launch());
    });
    child.send("start");
  }
}

/** An anvil node on loopback. */
export async function startAnvil(port: number, chainId: number, more: readonly string[]): Promise<ChildProcess> {
  const binary = new URL("../../node_modules/.bin/anvil", import.meta.url).pathname;
  const child = spawn(binary, ["--silent", "--port", String(port), "--chain-id", String(chainId), ...more], {
    stdio: "ignore",
    // The command is a wrapper around the node: both have to end together.
    detached: true,
  });
  const look = async () => (await rpc(`http://127.0.0.1:${port}`, "eth_chainId").catch(() => null)) ?? endOf(child);
  const seen = await wait("anvil to start", look);
  if (seen === endOf(child)) throw new Error(`anvil ended with ${seen}`);
  return child;
}

/** Its exit code or signal as a text; null: it runs. */
const endOf = ({ exitCode, signalCode }: ChildProcess) => (exitCode === null ? signalCode : String(exitCode));

export function stopAnvil(child: ChildProcess): void {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
    process.kill(-child.pid, "SIGKILL");
}

export async function rpc<T>(url: string, method: string, params: readonly unknown[] = []): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    // A connection that is kept may be closed by the node in the moment of the next question.
    headers: { "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    signal: AbortSignal.timeout(30_000 * slowness),
  });
  const answer = (await response.json()) as { result?: T; error?: { message: string } };
  if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result as T;
}
