import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Address, createPublicClient, http } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../contracts/abi/collection.ts";
import type { ReadyInfo } from "../src/embedded/ready-info.ts";
import { freePorts } from "../src/free-port.ts";
import { makeArtwork } from "./launch/artwork.ts";
import { deployedCollections } from "./launch/deployed-collections.ts";
import { Client } from "./setup/client.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";
import { patient, slowness } from "./setup/wait.ts";

// The tarball of `npm pack` in an empty folder, with no repository: npm, Node and the registry are all there is.
const root = join(import.meta.dirname, "..");
const dir = temporaryFolder();
let tarball: string;
let env: Record<string, string>;
let running: ChildProcess | undefined;
let ready: ReadyInfo | undefined;

beforeAll(() => {
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
  expect(
    files.filter((file) => /\.test\.|^package\/(test|bench|client|examples|contracts\/test)\/|bin\/tests/.test(file)),
  ).toEqual([]);
  const sizeBytes = statSync(tarball).size;
  process.stdout.write(`${files.length} files, ${sizeBytes} bytes\n`);
  expect(sizeBytes).toBeLessThan(5_000_000);
});

test("npx starts the service in an empty folder, and it deploys a collection", {
  timeout: 600_000 * slowness,
}, async () => {
  const [port = 0] = await freePorts(1);
  const lines: string[] = [];
  const child = spawn("npx", ["--yes", `--package=${tarball}`, "mintyard", "start"], {
    cwd: join(dir, "empty"),
    env: { ...env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running = child;
  ready = await new Promise<ReadyInfo>((done, failed) => {
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

test("npx launches a folder of ten pictures whole, and prints its events", {
  timeout: 600_000 * slowness,
}, async () => {
  if (!ready) throw new Error("the service did not start");
  await makeArtwork(join(dir, "art"), { count: 10, seed: 10 });
  const mintyard = ["--yes", `--package=${tarball}`, "mintyard"];
  const options = { cwd: join(dir, "empty"), env };
  const listening = spawn("npx", [...mintyard, "events", "listen", "--types", "deployment", "--json", "--count", "1"], {
    ...options,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const heard: string[] = [];
  createInterface({ input: listening.stdout }).on("line", (line) => heard.push(line));
  await new Promise<void>((done, failed) => {
    createInterface({ input: listening.stderr }).on("line", (line) => line.startsWith("Listening") && done());
    listening.once("exit", (code) => failed(new Error(`events listen ended with code ${code}`)));
  });
  const output = execFileSync("npx", [...mintyard, "launch", "../art", "--yes", "--json"], {
    ...options,
    encoding: "utf8",
  });
  const links = output
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .find(({ event }) => event === "links");
  const address = String(links?.["address"]).toLowerCase() as Address;
  expect(await deployedCollections(ready)).toContain(address);
  const chain = createPublicClient({ transport: http(ready.rpcUrl ?? "") });
  const { deploymentConfig, runtimeConfig } = (await chain.readContract({
    ...{ address, abi: collectionAbi, functionName: "getInfo" },
  })) as { deploymentConfig: { maxSupply: bigint }; runtimeConfig: { baseURI: string } };
  expect(deploymentConfig.maxSupply).toBe(10n);
  for (let id = 0; id < 10; id += 1) {
    const document = await fetch(`${ready.gateway}/${runtimeConfig.baseURI.slice(7)}${id}`);
    const { name, image } = (await document.json()) as { name: string; image: string };
    expect(name).toBe(`Yard #${id}`);
    const picture = Buffer.from(await (await fetch(`${ready.gateway}/${image.slice(7)}`)).arrayBuffer());
    expect(picture.equals(readFileSync(join(dir, `art/images/${id}.png`)))).toBe(true);
  }
  await expect.poll(() => heard.length, patient).toBe(1);
  expect(JSON.parse(heard[0] ?? "")).toMatchObject({ type: expect.stringMatching(/^deployment\./) });
});
