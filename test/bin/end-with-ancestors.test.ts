import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";

const root = join(import.meta.dirname, "../..");
const command = `node ${join(root, "bin/bootstrap.mjs")} test/fixtures/stay.mjs`;
const started: number[] = [];

/** Starts something that runs the bootstrap at some depth; resolves with the pid of the command behind it. */
async function untilUp(child: ChildProcess): Promise<number> {
  const pid = await new Promise<number>((up, failed) => {
    if (!child.stdout) throw new Error("no output");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const [, found] = /^up (\d+)$/.exec(line) ?? [];
      if (found) up(Number(found));
    });
    child.once("exit", (code) => sleep(2_000).then(() => failed(new Error(`ended with ${code} and never came up`))));
  });
  started.push(pid);
  return pid;
}

function alive(pid: number): boolean {
  try {
    // A process that ended and was not asked for yet has the state Z.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

const untilGone = (pid: number) => wait(`the end of process ${pid}`, () => !alive(pid));

const parentOf = (pid: number) => Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();

afterAll(() => {
  for (const pid of started.filter(alive)) process.kill(pid, "SIGKILL");
});

test.each(["SIGKILL", "SIGTERM", "SIGHUP"] as const)("a command ends with npm, ended by %s", async (signal) => {
  const { npm, pid } = await startByNpm();
  npm.kill(signal);
  await untilGone(pid);
});

test("a command ends with the shell between npm and it", async () => {
  const { npm, pid } = await startByNpm();
  const shell = parentOf(parentOf(pid));
  // Some shells hand their process over to the one command that they run.
  if (shell !== npm.pid) {
    expect(commandOf(shell)).toMatch(/^sh -c /);
    process.kill(shell, "SIGKILL");
    await untilGone(pid);
  }
  npm.kill("SIGKILL");
  await untilGone(pid);
});

test("a command that npm started through another npm ends with the outer one", async () => {
  const { npm, pid } = await startByNpm("outer");
  npm.kill("SIGKILL");
  await untilGone(pid);
});

test("without npm a command ends with the process that started it", async () => {
  const shell = spawn("sh", ["-c", `${command} & read -r word`], { stdio: ["pipe", "pipe", "inherit"] });
  const pid = await untilUp(shell);
  expect(alive(pid)).toBe(true);
  shell.kill("SIGKILL");
  await untilGone(pid);
});

test("a session of its own outlives what started it: npm's starter, and with setsid everybody", async () => {
  const dir = await packageFolder();
  const lines = [`(cd ${dir} && setsid npm run --silent inner) &`, "read -r word"];
  const above = spawn("sh", ["-c", lines.join("\n")], { stdio: ["pipe", "pipe", "inherit"] });
  const byNpm = await untilUp(above);
  // These tests may be a script of npm themselves.
  const { npm_lifecycle_event: _, ...env } = process.env;
  const alone = spawn("sh", ["-c", `setsid ${command} & read -r word`], { stdio: ["pipe", "pipe", "inherit"], env });
  const daemon = await untilUp(alone);
  above.kill("SIGKILL");
  alone.kill("SIGKILL");
  // They look for their ancestors more often than that.
  await sleep(1_500);
  expect([alive(byNpm), alive(daemon)]).toEqual([true, true]);
  for (const pid of [byNpm, daemon]) process.kill(pid, "SIGTERM");
  await untilGone(byNpm);
  await untilGone(daemon);
});

async function packageFolder(): Promise<string> {
  const dir = temporaryFolder();
  const scripts = { inner: command, outer: "npm run --silent inner" };
  await writeFile(join(dir, "package.json"), JSON.stringify({ name: "started-by-npm", private: true, scripts }));
  return dir;
}

async function startByNpm(script = "inner"): Promise<{ npm: ChildProcess; pid: number }> {
  const dir = await packageFolder();
  const npm = spawn("npm", ["run", "--silent", script], { cwd: dir, stdio: ["ignore", "pipe", "inherit"] });
  return { npm, pid: await untilUp(npm) };
}
