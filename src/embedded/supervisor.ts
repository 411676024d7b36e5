import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { backoffMs } from "../backoff.ts";
import { returnMemory } from "../compact-heap.ts";

export interface ChildSpec {
  name: string;
  /** Script and arguments for this Node. */
  args: readonly string[];
  env: Record<string, string>;
  /**
   * For a child that program-host.ts runs: the environment of its program. The child is started at once and loads; the program
   * starts when this is known.
   */
  programEnv?: Promise<Record<string, string>>;
  /** How long it may take until it says that it is ready, from when that environment was known. */
  readyWithinMs: number;
  /** What it gets of the launcher's environment: all of it, all but the keys, or (by default) no way to a signature. */
  signing?: "keys" | "signer" | "none";
  /** Nobody waits for an answer of it: it gives back the memory that it does not need. */
  background?: boolean;
}

/**
 * For Node, in front of the script. By itself it lets the young generation grow to 192 MiB on a machine with much
 * memory; an eighth of that is as fast here, and a process under load stays a hundred MiB smaller than with 16 MB.
 * bin/bootstrap.mjs and deploy/ say the same.
 */
export const nodeFlags = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=8"];

const restartPause = { firstMs: 250, mostMs: 15_000 };

type Report = (line: string) => void;

/** Keys, where keys lie, and what opens the signer to operators: for the signer, and for nobody else. */
const secret = /^(RELAYER_KEY|SIGNER_ADMIN_TOKEN)/;

/** Where the signer is, and what opens it: for the worker. */
const access = /^(SIGNER_(URL|TOKEN)|WEB3SIGNER_)/;

/** An environment for a process that has no key. */
export function withoutKeys(env: NodeJS.ProcessEnv): Record<string, string> {
  return without(secret, env);
}

/** An environment for a process that has nothing signed either. */
export function withoutSigner(env: NodeJS.ProcessEnv): Record<string, string> {
  return without(access, withoutKeys(env));
}

function without(pattern: RegExp, env: NodeJS.ProcessEnv): Record<string, string> {
  const others = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(others.filter(([name]) => !pattern.test(name)));
}

function inherited(signing: ChildSpec["signing"]): NodeJS.ProcessEnv {
  if (signing === "keys") return process.env;
  return signing === "signer" ? withoutKeys(process.env) : withoutSigner(process.env);
}

/**
 * Keeps child processes alive: starts each, waits for its `{type:"ready"}` message, reports and
 * restarts it when it ends unasked, and stops it on `stop()`.
 *
 * Every child has an IPC channel and ends by itself when it closes, so that killing the parent
 * leaves no process behind.
 */
export class Supervisor {
  readonly #report: Report;
  readonly #children = new Map<string, SupervisedChild>();
  #stopping = false;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Starts a child and resolves when it is ready. @throws Error when its first start fails. */
  async start(spec: ChildSpec): Promise<void> {
    const child = new SupervisedChild(spec, this.#report, () => this.#stopping);
    this.#children.set(spec.name, child);
    await child.start();
  }

  pids(): Record<string, number> {
    return Object.fromEntries([...this.#children].map(([name, child]) => [name, child.pid]));
  }

  /** From here on nothing is restarted. Call it first thing when ending. */
  beginStop(): void {
    this.#stopping = true;
  }

  /** Ends the named children together; what does not end within `timeoutMs` is killed. */
  async stop(names: readonly string[], timeoutMs: number): Promise<void> {
    this.beginStop();
    await Promise.all(names.map((name) => this.#children.get(name)?.stop(timeoutMs)));
  }
}

class SupervisedChild {
  readonly #spec: ChildSpec;
  readonly #report: Report;
  readonly #stopping: () => boolean;
  #process: ChildProcess | null = null;
  #failures = 0;

  constructor(spec: ChildSpec, report: Report, stopping: () => boolean) {
    this.#spec = spec;
    this.#report = report;
    this.#stopping = stopping;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async start(): Promise<void> {
    const { name, args, env, programEnv, readyWithinMs, background, signing } = this.#spec;
    let started = Date.now();
    const child = spawn(process.execPath, [...nodeFlags, ...args], {
      env: { ...(background ? returnMemory : {}), ...inherited(signing), ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // Its own group: Ctrl-C reaches the parent alone, which stops its children in the right order.
      detached: true,
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.#report(`[${name}] ${line}`));
    }
    child.once("exit", (code, signal) => {
      if (this.#process === child) this.#process = null;
      if (this.#stopping()) return;
      this.#report(`mintyard: ${name} (process ${child.pid}) ended with ${signal ?? `code ${code}`}; restarting it`);
      this.#failures = Date.now() - started > 30_000 ? 0 : this.#failures + 1;
      const delayMs = backoffMs(this.#failures + 1, restartPause);
      setTimeout(() => void this.#restart(), delayMs);
    });
    await new Promise<void>((ready, failed) => {
      let timer: NodeJS.Timeout | undefined;
      const begin = () => {
        started = Date.now();
        timer = setTimeout(() => {
          failed(new Error(`${name} was not ready within ${readyWithinMs / 1000} s`));
          child.kill("SIGKILL");
        }, readyWithinMs);
      };
      if (programEnv) {
        programEnv.then((program) => {
          if (!child.connected) return;
          begin();
          child.send({ type: "start", env: program }, () => undefined);
        }, failed);
      } else begin();
      child.once("exit", () => clearTimeout(timer));
      child.once("error", failed);
      child.once("exit", (code, signal) =>
        failed(new Error(`${name} ended with ${signal ?? `code ${code}`} before it was ready`)),
      );
      child.on("message", (message: { type?: string }) => {
        if (message.type !== "ready") return;
        clearTimeout(timer);
        ready();
      });
    });
  }

  async #restart(): Promise<void> {
    if (this.#stopping()) return;
    await this.start().then(
      () => this.#report(`mintyard: ${this.#spec.name} is running again (process ${this.pid})`),
      (error: Error) => this.#report(`mintyard: ${error.message}`),
    );
  }

  async stop(timeoutMs: number): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((done) => child.once("exit", () => done()));
    child.kill("SIGTERM");
    const kill = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    await ended;
    clearTimeout(kill);
  }
}
