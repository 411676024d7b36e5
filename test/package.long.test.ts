import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReadyInfo } from "../src/embedded/ready-info.ts";
import { freePorts } from "../src/free-port.ts";
import { makeArtwork } from "./launch/artwork.ts";
import { Client } from "./setup/client.ts";

// The tarball of `npm pack` in an empty folder, with no repository: npm, Node and the registry are all there is.
const root = join(import.meta.dirname, "..");
let dir: string;
let tarball: string;
let env: Record<string, string>;
let running: ChildProcess | undefined;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "mintyard-package-"));
  const source = join(dir, "source");
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
  });
  for (const file of listed.split("\0").filter((name) => name && existsSync(join(root, name))))
    cpSync(join(root, file), join(source, file));
  // Without this process's own runtime in front: the package has to bring what it needs.
  const path = (process.env["PATH"] ?? "").split(":").filter((entry) => !entry.startsWith(root));
  env = { PATH: path.join(":"), HOME: join(dir, "home"), TMPDIR: dir, XDG_CACHE_HOME: join(dir, "cache") };
  mkdirSync(join(dir, "home"));
  mkdirSync(join(dir, "empty"));
  for (const name of ["npm_config_registry", "NPM_CONFIG_USERCONFIG"])
    if (process.env[name]) env[name] = process.env[name];
  const settings = join(process.env["HOME"] ?? "", ".npmrc");
  if (existsSync(settings)) cpSync(settings, join(dir, "home/.npmrc"));
  const [packed] = npm(["pack", "--json", "--pack-destination", dir], source);
  tarball = join(dir, packed?.filename ?? "");
  rmSync(source, { recursive: true });
});

afterAll(async () => {
  if (running && running.exitCode === null) {
    const ended = new Promise((done) => running?.once("exit", done));
    running.kill("SIGTERM");
    await ended;
  }
  rmSync(dir, { recursive: true, force: true });
});

function npm(args: readonly string[], cwd: string): { filename: string }[] {
  const output = execFileSync("npm", args, { cwd, env, encoding: "utf8" });
  // The scripts of packing print their names first.
  return Object.values(JSON.parse(output.slice(output.search(/^[[{]/m))) as Record<string, { filename: string }>);
}

/** A command of the package beside the running service. */
async function mintyard(args: readonly string[], own: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)("npx", ["--yes", `--package=${tarball}`, "mintyard", ...args], {
    cwd: dir,
    env: own,
  });
  return stdout;
}

function filesOfTarball(): string[] {
  return execFileSync("tar", ["tzf", tarball], { encoding: "utf8" }).trim().split("\n");
}

test("the tarball holds the program and no test or benchmark", () => {
  const files = filesOfTarball();
  expect(files).toContain("package/bin/mintyard.mjs");
  expect(files).toContain("package/schema/openapi.json");
  expect(files.filter((file) => /\.test\.|^package\/(test|bench|contracts\/test)\/|bin\/tests/.test(file))).toEqual([]);
  const sizeBytes = statSync(tarball).size;
  process.stdout.write(`${files.length} files, ${sizeBytes} bytes\n`);
  expect(sizeBytes).toBeLessThan(5_000_000);
});

test("npx starts the service in an empty folder, and it launches a folder of ten images", {
  timeout: 600_000,
}, async () => {
  const [port = 0] = await freePorts(1);
  const lines: string[] = [];
  const child = spawn("npx", ["--yes", `--package=${tarball}`, "mintyard", "start"], {
    cwd: join(dir, "empty"),
    env: { ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running = child;
  const ready = await new Promise<ReadyInfo>((done, failed) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        if (line.startsWith("MINTYARD_READY ")) done(JSON.parse(line.slice("MINTYARD_READY ".length)) as ReadyInfo);
      });
    child.once("exit", (code) => failed(new Error(`start ended with code ${code}:\n${lines.slice(-40).join("\n")}`)));
  });
  expect(readdirSync(join(dir, "empty"))).toEqual([".mintyard"]);
  const dataDir = join(dir, "empty/.mintyard");
  const folder = join(dir, "art");
  await makeArtwork(folder, { count: 10, seed: 1, settings: { reveal: "now" } });
  const output = await mintyard(["launch", folder, "--yes", "--json"], { ...env, MINTYARD_DATA_DIR: dataDir });
  const events = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; address?: string });
  const address = events.find(({ event }) => event === "links")?.address;
  const { body } = await new Client(ready).get("/me/contracts/collections?chain=goerli");
  expect(body["contracts"]).toMatchObject([{ address, max_supply: 10, base_uri: expect.stringMatching(/^ipfs:/) }]);
  const page = await fetch(`${new URL(ready.rest).origin}/mint/goerli/${address}`);
  expect(await page.text()).toContain('<meta property="og:image"');
});
