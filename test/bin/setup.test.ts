import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { startTestChain, type TestChain } from "../setup/local-chain.ts";

const root = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "mintyard-setup-"));
let database: TestDatabase;
let chain: TestChain;

beforeAll(async () => {
  [database, chain] = await Promise.all([createTestDatabase({ migrated: false }), startTestChain()]);
});
afterAll(async () => {
  await Promise.all([database.drop(), chain.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Runs the command with answers, a line each. */
async function setup(file: string, answers: readonly string[]) {
  const child = spawn(process.execPath, ["bin/mintyard.ts", "setup", "--file", file], {
    cwd: root,
    env: bareEnvironment,
    stdio: "pipe",
  });
  child.stdin.end(answers.map((answer) => `${answer}\n`).join(""));
  let [said, errors] = ["", ""];
  child.stdout.on("data", (chunk) => (said += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, said, errors };
}

/** Values as a shell has them once it has read the file. */
function sourced(file: string): Record<string, string> {
  const { stdout } = spawnSync("sh", ["-c", 'set -a; . "$0"; env -0', file], { env: {}, encoding: "utf8" });
  return Object.fromEntries(
    stdout
      .split("\0")
      .filter(Boolean)
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  );
}

test("ten answers make a file that the service starts from, and that its owner alone may read", async () => {
  const file = join(folder, "mintyard.env");
  const data = join(folder, "data");
  const { code, said, errors } = await setup(file, [
    "postgres://nobody@127.0.0.1:9/none",
    database.url,
    data,
    "http://mint.example",
    "https://mint.example/",
    "10.0.0.1 10.0.0.2",
    "999.1.1.1",
    "",
    "goerli",
    "http://127.0.0.1:9",
    chain.url,
    "new",
    `0x${"11".repeat(20)} 1`,
    "later",
    "",
    "maybe",
    "off",
  ]);
  expect(errors).toBe("");
  expect(code).toBe(0);
  // What was wrong is said with the setting, and asked for again.
  for (const refusal of [
    /no: DATABASE_URL: .*(ECONNREFUSED|no answer).*mend host, login or password/,
    /no: PUBLIC_URL: use https/,
    /no: TRUSTED_PROXIES: 10.0.0.1 10.0.0.2\/32 is neither an address nor a range/,
    /no: TRUSTED_PROXIES: 999.1.1.1\/32 is neither/,
    /no: RPC_URL_GOERLI: 127.0.0.1:9 gives no answer/,
    /no: FACTORY_GOERLI: there is no contract/,
    /no: SIGN_UP is on or off/,
  ])
    expect(said).toMatch(refusal);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const workerFile = join(folder, "worker.env");
  expect(statSync(workerFile).mode & 0o777).toBe(0o600);
  // Only the worker can find the wallet's key.
  expect(readFileSync(file, "utf8")).not.toContain("RELAYER_KEY");
  expect(Object.keys(sourced(workerFile)).filter((name) => name.startsWith("RELAYER"))).toEqual([
    "RELAYER_KEY_FILE_GOERLI",
  ]);
  expect(loadConfig(sourced(file)).chains[0]?.relay.wallets).toHaveLength(1);
  const env = { ...sourced(file), ...sourced(workerFile) };
  const config = loadConfig(env);
  expect(config.databaseUrl).toBe(database.url);
  expect(config.publicUrl).toBe("https://mint.example");
  expect(config.chains.map(({ name, id }) => [name, id])).toEqual([["goerli", chain.id]]);
  const keyFile = env["RELAYER_KEY_FILE_GOERLI"] ?? "";
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  const { address } = privateKeyToAccount(readFileSync(keyFile, "utf8").trim() as `0x${string}`);
  expect(said).toContain(`wallet ${address} has 0 of the chain's coin: send it some`);
  expect(said).toContain("factory deploy --chain goerli");
  expect(env["NODE_ENV"]).toBe("production");
  expect(Buffer.from(env["KEY_PEPPER"] ?? "", "base64")).toHaveLength(32);
  // Nothing secret is repeated on the screen.
  expect(said).not.toContain(database.url);
  expect(said).not.toContain(env["KEY_PEPPER"]);
});

test("a file that is there is not touched, and answers that end early write nothing", async () => {
  mkdirSync(join(folder, "early"));
  const file = join(folder, "early", "mintyard.env");
  const early = await setup(file, [database.url, join(folder, "data")]);
  expect(early.code).toBe(1);
  expect(early.errors).toContain("the answers ended at question 3; the settings were not written");
  expect(existsSync(file)).toBe(false);
  const again = await setup(join(folder, "mintyard.env"), []);
  expect(again.code).toBe(1);
  expect(again.errors).toContain("is there already: move it away, or name another folder with --file");
  const nowhere = await setup(join(folder, "none", "mintyard.env"), []);
  expect(nowhere.errors).toContain("is no folder that this user may write");
  expect(
    readdirSync(folder)
      .filter((name) => name.endsWith(".env"))
      .sort(),
  ).toEqual(["mintyard.env", "worker.env"]);
});

test("an endpoint of another chain is refused with both numbers", async () => {
  const { code, said } = await setup(join(folder, "early", "other.env"), [
    database.url,
    join(folder, "data"),
    "https://mint.example",
    "none",
    "polygon",
    chain.url,
  ]);
  expect(said).toContain(`no: RPC_URL_POLYGON: the endpoint serves chain ${chain.id}, and polygon is chain 137`);
  expect(code).toBe(1);
});
