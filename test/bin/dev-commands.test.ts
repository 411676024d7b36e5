import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";

const root = join(import.meta.dirname, "../..");
const dir = temporaryFolder();

const dev = (...args: string[]) =>
  spawnSync(process.execPath, ["bin/mintyard.ts", "dev", ...args], { cwd: root, encoding: "utf8" });

test("dev lists the developer commands, and names them when one is misspelt", () => {
  const all = dev();
  expect(all.status).toBe(0);
  expect(all.stdout).toMatch(/^ {2}dev bench reads +\S.*$/m);
  const wrong = dev("bench", "raeds");
  expect(wrong.stderr).toMatch(/there is no dev bench raeds; dev bench takes attacks, /);
  expect(wrong.stderr).not.toContain("chaos");
  expect(wrong.status).toBe(2);
  expect(dev("generate", "everything").status).toBe(2);
});

test("what follows the name reaches the command, and its exit code comes back", () => {
  const { status, stderr } = dev("chaos", "relayer", "--no-such-option");
  expect(stderr).toContain("--no-such-option");
  expect(stderr).toContain("test/chaos/relayer.ts");
  expect(status).toBe(1);
});

/** Starts a process that runs a developer command which waits, and resolves with both process numbers. */
async function startWaiting(name: string) {
  const script = join(dir, `${name}.mjs`);
  const launcher = join(dir, `${name}-launcher.mjs`);
  await writeFile(
    script,
    "process.on('SIGTERM', () => process.exit(7)); console.log('PID ' + process.pid); setInterval(() => {}, 1000);",
  );
  const command = { name, does: "waits", script: relative(root, script) };
  await writeFile(
    launcher,
    `import { runDevCommand } from ${JSON.stringify(join(root, "bin/dev.ts"))};
     process.exitCode = await runDevCommand(${JSON.stringify(command)}, []);
     if (process.connected) process.disconnect();`,
  );
  const parent = fork(launcher, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  if (!parent.stdout) throw new Error("no output");
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  return { parent, pid: Number(/PID (\d+)/.exec(String(line))?.[1]) };
}

async function untilGone(pid: number): Promise<void> {
  await wait(`the end of process ${pid}`, () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
}

test("a signal reaches the command", async () => {
  const { parent, pid } = await startWaiting("signalled");
  parent.kill("SIGTERM");
  expect(await once(parent, "exit")).toEqual([7, null]);
  await untilGone(pid);
});

test("the command ends when the process that started it all is gone", async () => {
  const { parent, pid } = await startWaiting("left");
  parent.disconnect();
  expect(await once(parent, "exit")).toEqual([7, null]);
  await untilGone(pid);
});
