import { type Hash, parseGwei } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { followTransaction } from "../../web/shared/follow-transaction.ts";
import { startTestChain, type TestChain } from "../setup/local-chain.ts";
import { patient } from "../setup/wait.ts";
import { directClient } from "../transactions/harness.ts";

let node: TestChain;
let chain: ReturnType<typeof directClient>;
beforeAll(async () => {
  node = await startTestChain();
  chain = directClient(node);
  await chain.setAutomine(false);
});
afterAll(async () => node?.stop());

const request = async ({ method, params = [] }: { method: string; params?: readonly unknown[] }) =>
  await chain.request({ method, params } as never);

/** What a wallet sends while nothing is mined; `gwei` is its fee. */
async function send(
  gwei: string,
  more: object = {},
): Promise<Parameters<typeof followTransaction>[1] & { hash: Hash }> {
  const [from = ""] = (await request({ method: "eth_accounts" })) as string[];
  const nonce = BigInt((await request({ method: "eth_getTransactionCount", params: [from, "latest"] })) as string);
  const fee = `0x${parseGwei(gwei).toString(16)}`;
  const call = { from, to: from, gas: "0x186a0", maxFeePerGas: fee, maxPriorityFeePerGas: fee, ...more };
  const hash = (await request({ method: "eth_sendTransaction", params: [call] })) as Hash;
  return { hash, from, nonce, chainId: await chain.getChainId() };
}

const follow = (sent: Parameters<typeof followTransaction>[1]) =>
  followTransaction<{ status: string }>({ request }, sent, 10);

test("a transaction that its wallet replaced, or that the network dropped, is waited for no longer", async () => {
  const slow = await send("10");
  const waits = follow(slow);
  await send("50", { nonce: `0x${slow.nonce.toString(16)}` });
  await chain.mine({ blocks: 1 });
  expect(await waits).toBe("replaced");

  const dropped = await send("10");
  const forgotten = follow(dropped);
  await chain.dropTransaction({ hash: dropped.hash });
  expect(await forgotten).toBe("dropped");
});

test("a node that does not answer has not dropped anything, and who waits can stop", async () => {
  const sent = await send("10");
  const leaves = new AbortController();
  let asked = 0;
  // Far more often than what is taken for dropped.
  const away = async () => {
    asked += 1;
    if (asked > 200) leaves.abort();
    throw new Error("the node is away");
  };
  expect(await followTransaction({ request: away }, sent, 1, leaves.signal)).toBe("left");
  await chain.mine({ blocks: 1 });
  expect(await follow(sent)).toMatchObject({ status: "0x1" });
});

test("what a wallet says while it is on another network counts for nothing", async () => {
  const sent = await send("10");
  let asked = 0;
  // The other network has no such transaction, and a higher nonce of the same wallet.
  const elsewhere: Record<string, unknown> = { eth_chainId: "0x539", eth_getTransactionCount: "0xff" };
  const wanders = async ({ method, params = [] }: { method: string; params?: readonly unknown[] }) => {
    asked += 1;
    return asked < 400 ? (elsewhere[method] ?? null) : await request({ method, params });
  };
  const end = followTransaction<{ status: string }>({ request: wanders }, sent, 1);
  await expect.poll(() => asked, patient).toBeGreaterThan(400);
  await chain.mine({ blocks: 1 });
  expect(await end).toMatchObject({ status: "0x1" });
});

test("one behind others of its wallet is waited for until it is mined", async () => {
  const first = await send("10");
  const second = await send("10");
  const ends = Promise.all([follow(first), follow(second)]);
  await chain.mine({ blocks: 1 });
  expect(await ends).toMatchObject([{ status: "0x1" }, { status: "0x1" }]);
});
