// Reports when the processes are gone on whose behalf a command runs. npm starts a script through a shell. When npm is
// asked to end, it signals only the shell, and when it is killed it signals nobody, so the command itself has to watch.
//
// The rule (also in docs/operations.md): a command that npm started ends with npm and with every shell between them.
// The process that started npm does not matter, so `setsid npm start` outlives its terminal. A command that was started
// without npm ends with the process that started it, unless that is the system's first process or the command leads a
// session of its own (setsid, systemd): then it is a daemon and watches nobody.
//
// Runs on Node 18 with nothing installed: bin/bootstrap.mjs imports it.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const pollMs = 250;
const maxDepth = 16;

/** Programs that run package scripts, by their title (npm's is `npm start`) or by the script that Node runs. */
const runner = /^(npm|npx|yarn|pnpm)( |$)|[\\/](npm|npx|yarn|pnpm)(-cli)?(\.c?js)?( |$)/;
const shellWithScript = /^\S*\b(sh|ash|dash|bash|zsh|ksh) -\S*c /;

/**
 * Calls `gone` once, soon after the first of the watched processes has ended. Does not keep this process alive.
 *
 * @param {() => void} gone
 */
export function whenAncestorsEnd(gone) {
  if (process.platform === "win32") return;
  const watched = ancestorsToWatch();
  if (watched.length === 0) return;
  const timer = setInterval(() => {
    if (watched.every(stillThere)) return;
    clearInterval(timer);
    gone();
  }, pollMs);
  timer.unref();
}

/** @param {string} command */
function kindOf(command) {
  if (shellWithScript.test(command)) return "shell";
  return runner.test(command) ? "runner" : "other";
}

/**
 * The ancestors of this process that matter, nearest first: each is the parent of the one before.
 *
 * @returns {{ pid: number, child: number }[]}
 */
function ancestorsToWatch() {
  const above = [];
  for (let child = process.pid, pid = process.ppid; pid > 1 && above.length < maxDepth; ) {
    const found = inspect(pid);
    // If it ended meanwhile, the check whether it is still there will show that.
    const command = found?.command ?? "";
    above.push({ pid, child, command });
    if (kindOf(command) === "other") break;
    child = pid;
    pid = found?.parent ?? 0;
  }
  const outermost = above.findLastIndex(({ command }) => kindOf(command) === "runner");
  if (outermost >= 0) return above.slice(0, outermost + 1);
  return process.env.npm_lifecycle_event === undefined && leadsSession() ? [] : above.slice(0, 1);
}

/**
 * When a process ends, its children get another parent at once, while its id stays taken until its exit status has been
 * collected. Where the parent of another process cannot be read cheaply, the id has to do.
 *
 * @param {{ pid: number, child: number }} watched
 */
function stillThere({ pid, child }) {
  if (child === process.pid) return process.ppid === pid;
  if (process.platform === "linux") return inspect(child)?.parent === pid;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/**
 * @param {number} pid
 * @returns {{ parent: number, command: string } | null} null when there is no such process.
 */
function inspect(pid) {
  if (process.platform === "linux") {
    const fields = statOf(pid);
    return fields && { parent: Number(fields[1]), command: read(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() };
  }
  const { stdout } = spawnSync("ps", ["-o", "ppid=,command=", "-p", String(pid)], { encoding: "utf8" });
  const [, parent, command] = /^\s*(\d+)\s+(.*)$/m.exec(stdout ?? "") ?? [];
  return command === undefined ? null : { parent: Number(parent), command };
}

/** Only Linux shows this; elsewhere daemons are started by process 1. */
function leadsSession() {
  return process.platform === "linux" && Number(statOf(process.pid)?.[3]) === process.pid;
}

/**
 * The fields after the name, which may contain anything: state, parent, group, session, …
 *
 * @param {number} pid
 */
function statOf(pid) {
  const text = read(`/proc/${pid}/stat`);
  return text === "" ? null : text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** @param {string} file */
function read(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
