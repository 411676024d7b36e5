import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bareEnvironment } from "../setup/bare-environment.ts";

const program = join(import.meta.dirname, "../../bin/mintyard.ts");

let config: string | null = null;

/** Where this user's key of journals lies: one for all commands of a test file. */
function configHome(): string {
  config ??= mkdtempSync(join(tmpdir(), "mintyard-config-"));
  return config;
}

process.once("exit", () => config && rmSync(config, { recursive: true, force: true }));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface LaunchProcess {
  ended: Promise<Ended>;
  kill(): void;
}

/** `mintyard launch …` beside a stack, which is found by its data folder. */
export function startLaunch(args: readonly string[], env: Record<string, string>): LaunchProcess {
  const child = spawn(process.execPath, [program, "launch", ...args], {
    env: { ...bareEnvironment, HOME: process.env["HOME"], XDG_CONFIG_HOME: configHome(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ended>((done) => child.once("close", (code) => done({ code, stdout, stderr })));
  return { ended, kill: () => child.kill("SIGKILL") };
}

export async function runLaunchCommand(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return await startLaunch(args, env).ended;
}

/** The events that a launch with `--json` printed. */
export function eventsOf({ stdout }: Ended): Record<string, unknown>[] {
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
