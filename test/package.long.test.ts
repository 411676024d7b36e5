import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ReadyInfo } from "../src/embedded/ready-info.ts";
import { freePorts } from "../src/free-port.ts";
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

test("npx starts the service in an empty folder, and it deploys a collection", { timeout: 600_000 }, async () => {
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
  const client = new Client(ready);
  const owner = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
  const { body } = await client.json("/contracts/collections", {
    chain: "goerli",
    name: "Packed",
    symbol: "PKD",
    max_supply: 3,
    tokens_per_mint: 1,
    mint_price: 0.01,
    owner_address: owner,
    treasury_address: owner,
    public_mint_start: "2036-01-01T00:00:00+00:00",
  });
  const path = `/contracts/${body["transaction_hash"]}?chain=goerli`;
  const deployed = await client.until(path, ({ status }) => status === 200);
  expect(deployed.body["contract_address"]).toBe(body["predicted_address"]);
});
