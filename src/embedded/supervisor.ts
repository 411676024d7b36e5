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
   * For a child that program-host.ts runs: its program's environment. The child starts at once and loads modules; its
   * program starts when this resolves.
   */
  programEnv?: Promise<Record<string, string>>;
  /** How long it may take to report that it is ready, counted from when `programEnv` resolved. */
  readyWithinMs: number;
  /** What it gets of the launcher's environment: all, all but the keys, or (by default) no access to signing. */
  signing?: "keys" | "signer" | "none";
  /** Whether nobody waits for its answers, so that it can give back memory that it does not need. */
  background?: boolean;
}

/**
 * Options for Node, before the script. By default the young generation may grow to 192 MiB on a machine with much
 * memory. A maximum of an eighth of that is as fast here, and a process under load stays a hundred MiB smaller than
 * with 16 MB. bin/bootstrap.mjs and deploy/ use the same options.
 */
export const nodeFlags = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=8"];

const restartPause = { firstMs: 250, mostMs: 15_000 };

type Report = (line: string) => void;

/** Keys, paths of keys, and the operators' token of the signer: only for the signer. */
const secret = /^(RELAYER_KEY|SIGNER_ADMIN_TOKEN)/;

/** The signer's address and token: for the worker. */
const access = /^(SIGNER_(URL|TOKEN)|WEB3SIGNER_)/;

/** The environment for a process without keys. */
export function withoutKeys(env: NodeJS.ProcessEnv): Record<string, string> {
  return without(secret, env);
}

/** The environment for a process that may not have anything signed either. */
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
 * Keeps child processes alive: starts each, waits for its `{type:"ready"}` message, reports and restarts it when it
 * ends unasked, and stops it on `stop()`.
 *
 * Every child has an IPC channel and ends when that closes, so killing the parent leaves no process behind.
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

  /** From here on nothing is restarted. Call this before anything else when shutting down. */
  beginStop(): void {
    this.#stopping = true;
  }

  /** Stops the named children in parallel and kills those that have not ended within `timeoutMs`. */
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
      // A process group of its own: Ctrl-C reaches only the parent, which stops its children in the right order.
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
