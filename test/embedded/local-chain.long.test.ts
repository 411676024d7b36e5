import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTestClient, http, publicActions, walletActions } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../src/free-port.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const script = join(import.meta.dirname, "../../bin/local-chain.ts");
const empty = "0x00000000000000000000000000000000000000aa";

const dir = temporaryFolder();
const journal = join(dir, "journal.jsonl");
let port: number;
let child: ChildProcess;

async function start(): Promise<{ replayed: number }> {
  const args = [script, "--chain-id", "31337", "--port", String(port), "--dir", dir];
  child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  return await new Promise((ready, failed) => {
    child.once("message", (message) => ready(message as { replayed: number }));
    child.once("exit", () => failed(new Error(said)));
  });
}

async function end(signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill(signal);
  await ended;
}

function connect() {
  return createTestClient({ mode: "hardhat", transport: http(`http://127.0.0.1:${port}`) })
    .extend(publicActions)
    .extend(walletActions);
}

/** Transfers, a balance out of nothing, a time jump, an empty block, and a transaction that reverts. */
async function act(): Promise<void> {
  const node = connect();
  const [a, b] = await node.getAddresses();
  if (!a || !b) throw new Error("no accounts");
  await node.sendTransaction({ account: a, to: b, value: 16n, chain: null });
  await node.setBalance({ address: empty, value: 0x1234n });
  await node.increaseTime({ seconds: 1000 });
  await node.mine({ blocks: 1 });
  const reverts = { account: a, data: "0x60006000fd", gas: 100_000n, chain: null } as const;
  await expect(node.sendTransaction(reverts)).rejects.toThrow("reverted");
  for (let count = 0; count < 5; count += 1) await node.sendTransaction({ account: b, to: a, value: 1n, chain: null });
}

beforeAll(async () => {
  [port = 0] = await freePorts(1);
});
afterAll(() => end("SIGKILL"));

// One chain and its ends: each test needs those above it.

test("a chain that was killed in the middle of an entry has the same blocks and state, and goes on in the present", async () => {
  expect((await start()).replayed).toBe(0);
  await act();
  const before = await connect().getBlock();
  await end("SIGKILL");
  appendFileSync(journal, '{"method":"evm_mine","par');

  expect((await start()).replayed).toBeGreaterThan(5);
  const node = connect();
  expect((await node.getBlock()).hash).toBe(before.hash);
  expect(await node.getBalance({ address: empty })).toBe(0x1234n);
  const [a] = await node.getAddresses();
  if (!a) throw new Error("no account");
  const present = Math.floor(Date.now() / 1000);
  await node.sendTransaction({ account: a, to: empty, value: 1n, chain: null });
  const next = await node.getBlock();
  expect(next.number).toBe(before.number + 1n);
  expect(Number(next.timestamp)).toBeGreaterThanOrEqual(present - 2);
});

test("a journal that leads to other blocks is refused", async () => {
  await end("SIGTERM");
  writeFileSync(journal, readFileSync(journal, "utf8").replace('"value":"0x10"', '"value":"0x11"'));
  await expect(start()).rejects.toThrow("remove the data folder");
});
