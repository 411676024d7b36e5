import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTestClient, http, publicActions } from "viem";
import { hardhat } from "viem/chains";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkEndpoint } from "../../src/indexing/check-endpoint.ts";
import { FaultyEndpoint, refuse } from "../products/faulty-endpoint.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { startTestChain, type TestChain } from "../setup/local-chain.ts";

let node: TestChain;
let limited: FaultyEndpoint;
beforeAll(async () => {
  node = await startTestChain();
  const client = createTestClient({ chain: hardhat, mode: "hardhat", transport: http(node.url) }).extend(publicActions);
  await client.mine({ blocks: 1_200 });
  limited = await FaultyEndpoint.start(node.url, {
    answer: ({ method, params = [] }, answer) => {
      const [first] = params as ({ fromBlock?: string; toBlock?: string; blockHash?: string } | string)[];
      if (first === "finalized") refuse(answer, { code: -32_602, message: "finalized block not found" });
      if (method === "eth_feeHistory") refuse(answer, { code: -32_601, message: "the method does not exist" });
      if (method === "eth_getBalance") refuse(answer, { code: -32_007, message: "10/second request limit reached" });
      const block = answer.result as { mixHash?: string } | null;
      if (method.startsWith("eth_getBlockBy") && block) block.mixHash = `0x${"1".repeat(64)}`;
      if (
        method === "eth_getLogs" &&
        typeof first === "object" &&
        Number(first.toBlock) - Number(first.fromBlock) >= 100
      )
        refuse(answer, { code: -32_600, message: "block range is too wide" });
    },
  });
});
afterAll(async () => {
  await limited?.stop();
  await node?.stop();
});

test("an endpoint that can do everything is said to", async () => {
  const facts = await checkEndpoint(node.url);
  expect(facts).toMatchObject({ chainId: 31337, host: new URL(node.url).host, refusedAtOnce: 0, widestRange: 1_000n });
  const { feeHistory, hashes, receipts, callByHash, pending } = facts;
  expect([feeHistory, hashes, receipts, callByHash, pending]).toEqual([true, true, true, true, true]);
  expect(facts.head).toBeGreaterThanOrEqual(1_200n);
  expect(typeof facts.finalized).toBe("bigint");
});

test("what an endpoint cannot do is told in its words", async () => {
  const facts = await checkEndpoint(limited.url);
  expect(facts).toMatchObject({
    widestRange: 100n,
    refusedAtOnce: 32,
    hashes: "blocks have fields of this chain's own",
  });
  expect(facts.feeHistory).toBe("eth_feeHistory: unsupported: the method does not exist");
  expect(facts.finalized).toContain("finalized block not found");
});

test("mintyard rpc check prints both, what to set, and no key of a URL", async () => {
  const root = join(import.meta.dirname, "../..");
  const run = (...urls: string[]) =>
    promisify(execFile)(process.execPath, ["bin/mintyard.ts", "rpc", "check", ...urls], {
      cwd: root,
      env: bareEnvironment,
    });
  const { stdout } = await run(`${node.url}/v3/secret-key`, limited.url);
  expect(stdout).toContain("  ok   logs of 1000 blocks at once");
  expect(stdout).toContain("  no   it takes few questions at once (32 of 32 questions at once were refused)");
  expect(stdout).toContain("VERIFY_CHAIN=logs");
  expect(stdout).toContain("RPC_RATE_CHAIN");
  expect(stdout).not.toContain("secret-key");
  const away = await run("http://127.0.0.1:9/v3/secret-key").catch((error: { code: number; stdout: string }) => error);
  expect(away).toMatchObject({ code: 1 });
  expect(away.stdout).toContain("it gives no answer");
  expect(away.stdout).not.toContain("secret-key");
});
