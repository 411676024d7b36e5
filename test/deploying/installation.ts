import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { wait } from "../setup/wait.ts";

const root = join(import.meta.dirname, "../..");

/** What runs below npm and the bootstrap, and has children of its own. */
const programs = /src\/processes\/(signer|api|worker|indexer)\.ts/;

export type Env = Record<string, string>;

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

interface Program {
  /** As a shell would run it, in the project's folder. */
  line: string;
  /** Read again at each start, as a unit reads its EnvironmentFile. */
  env: () => Env;
  child: ChildProcess | null;
  wanted: boolean;
  starts: number;
}

/**
 * One installation as docs/operations.md describes it: each process alone, from its own command line, and started
 * again one second after it ended (`Restart=always`, `RestartSec=1` in deploy/systemd/).
 */
export class Installation {
  readonly #programs = new Map<string, Program>();
  /** What all processes wrote, the last part of each. */
  readonly output = new Map<string, string>();

  /** Starts a process of the service; it is kept running from then on. */
  start(name: string, line: string, env: () => Env): void {
    const program: Program = { line, env, child: null, wanted: true, starts: 0 };
    this.#programs.set(name, program);
    this.#launch(name, program);
  }

  /** How often the process was started. */
  starts(name: string): number {
    return this.#of(name).starts;
  }

  /** SIGKILL to the program itself, not to npm above it. */
  async kill(name: string): Promise<void> {
    const program = this.#of(name);
    const before = program.starts;
    const [pid] = descendants(program.child?.pid ?? 0).filter(
      ({ command }) => programs.test(command) && !command.includes("bootstrap.mjs"),
    );
    if (!pid) throw new Error(`${name} does not run: ${this.tail(name)}`);
    process.kill(pid.pid, "SIGKILL");
    await this.#until(() => program.starts > before, `${name} to be started again`);
  }

  /** As `systemctl restart`: SIGTERM, and the next start reads the settings again. */
  async restart(name: string): Promise<void> {
    const program = this.#of(name);
    const before = program.starts;
    program.child?.kill("SIGTERM");
    await this.#until(() => program.starts > before, `${name} to be started again`);
  }

  async stop(...names: string[]): Promise<void> {
    const stopped = (names.length > 0 ? names : [...this.#programs.keys()]).map(async (name) => {
      const program = this.#of(name);
      program.wanted = false;
      const { child } = program;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      const impatient = setTimeout(() => {
        for (const { pid } of descendants(child.pid ?? 0)) process.kill(pid, "SIGKILL");
        child.kill("SIGKILL");
      }, 20_000);
      await ended;
      clearTimeout(impatient);
    });
    await Promise.all(stopped);
  }

  /** Starts again what was stopped. */
  resume(name: string): void {
    const program = this.#of(name);
    program.wanted = true;
    this.#launch(name, program);
  }

  tail(name: string): string {
    return (this.output.get(name) ?? "").slice(-3_000);
  }

  #launch(name: string, program: Program): void {
    program.starts += 1;
    const child = spawn("sh", ["-c", `exec ${program.line}`], {
      cwd: root,
      env: { ...basis(), ...program.env() },
      stdio: ["ignore", "pipe", "pipe"],
      // Without a terminal, as a service manager starts it.
      detached: true,
    });
    program.child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.output.set(name, ((this.output.get(name) ?? "") + chunk.toString("utf8")).slice(-200_000));
      });
    child.once("exit", () => {
      if (program.wanted) setTimeout(() => program.wanted && this.#launch(name, program), 1_000);
    });
  }

  #of(name: string): Program {
    const program = this.#programs.get(name);
    if (!program) throw new Error(`no process ${name}`);
    return program;
  }

  async #until(done: () => boolean, what: string): Promise<void> {
    await wait(what, done);
  }
}

/** Runs one line of a document in a shell, with the settings of the installation. */
export async function runLine(line: string, env: Env): Promise<CommandResult> {
  const child = spawn("sh", ["-c", line], {
    cwd: root,
    env: { ...basis(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, stdout, stderr };
}

/** Nothing of this test's own environment but what a login has. */
function basis(): Env {
  const kept = ["HOME", "LANG", "TMPDIR"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...bareEnvironment, ...Object.fromEntries(kept) };
}

/** The processes below one, as Linux tells them. */
function descendants(of: number): { pid: number; command: string }[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    // The command may have spaces and brackets: the parent is the second word behind the last bracket.
    const stat = readProc(name, "stat");
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] ?? 0));
  }
  const found = new Set([of]);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const [pid, parent] of parents) if (found.has(parent)) found.add(pid);
  }
  found.delete(of);
  // The one that has children is a shell, npm or the bootstrap: the program is the last of the line.
  return [...found]
    .sort((a, b) => b - a)
    .map((pid) => ({ pid, command: readProc(String(pid), "cmdline").replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== "");
}

/** Empty for a process that is gone. */
function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
