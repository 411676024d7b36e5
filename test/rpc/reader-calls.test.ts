import type { Address } from "viem";
import { expect, test } from "vitest";
import type { Chain } from "../../src/chains.ts";
import type { RpcCall, RpcResult } from "../../src/rpc/endpoint.ts";
import { ReaderCalls } from "../../src/rpc/reader-calls.ts";
import { patient } from "../setup/wait.ts";

const chain = { id: 31337, name: "goerli" } as Chain;
const contract: Address = `0x${"aa".repeat(20)}`;

/** A node that answers a batch when the test says so, with the calls' own data. */
function node(budget: { perSecond: number; keptMs: number }) {
  const batches: { calls: readonly RpcCall[]; answer: () => void; fail: () => void }[] = [];
  const ask = (_chain: Chain, calls: readonly RpcCall[]) =>
    new Promise<RpcResult[]>((done, failed) => {
      const answer = () => done(calls.map(({ params }) => ({ result: (params[0] as { data: string }).data })));
      batches.push({ calls, answer, fail: () => failed(new Error("away")) });
    });
  const readers = new ReaderCalls(ask, budget);
  const call = (data: number, fresh = false, owner = "address:a") =>
    readers.call(chain, contract, `0x${data}`, { owner, fresh });
  return { batches, call };
}
/** What was asked before is with the node. */
const turn = () => new Promise((done) => setImmediate(() => setImmediate(done)));

test("calls of one turn are one batch, and equal ones are one call", async () => {
  const { batches, call } = node({ perSecond: 100, keptMs: 60_000 });
  const answers = Promise.all([1, 2, 1, 3, 2].map((data) => call(data)));
  await turn();
  expect(batches.map(({ calls }) => calls.length)).toEqual([3]);
  const late = call(1);
  batches[0]?.answer();
  expect(await answers).toEqual([1, 2, 1, 3, 2].map((data) => ({ result: `0x${data}` })));
  expect(await late).toEqual({ result: "0x1" });
  // Known for a while.
  expect(await call(3)).toEqual({ result: "0x3" });
  expect(batches).toHaveLength(1);
});

test("a fresh call is asked anew although an answer is known, once for all who want it", async () => {
  const { batches, call } = node({ perSecond: 100, keptMs: 60_000 });
  const first = call(1);
  await turn();
  batches[0]?.answer();
  await first;
  const fresh = Promise.all([call(1, true), call(1, true)]);
  await turn();
  expect(batches.map(({ calls }) => calls.length)).toEqual([1, 1]);
  batches[1]?.answer();
  expect(await fresh).toEqual([{ result: "0x1" }, { result: "0x1" }]);
});

test("an answer is used for its time only, and a failure for none", async () => {
  const { batches, call } = node({ perSecond: 100, keptMs: 0 });
  const failing = call(1);
  await turn();
  batches[0]?.fail();
  await expect(failing).rejects.toThrow("away");
  const first = call(1);
  await turn();
  batches[1]?.answer();
  await first;
  await turn();
  const again = call(1);
  await turn();
  expect(batches).toHaveLength(3);
  batches[2]?.answer();
  expect(await again).toEqual({ result: "0x1" });
});

test("at most four batches of fifty calls are under way, however slow the node is", async () => {
  const { batches, call } = node({ perSecond: 1_000, keptMs: 0 });
  let answered = 0;
  for (let data = 100; data < 300; data += 1) void call(data).then(() => (answered += 1));
  await turn();
  expect(batches.map(({ calls }) => calls.length)).toEqual([50, 50, 50, 50]);
  const more = call(300);
  await turn();
  expect(batches).toHaveLength(4);
  batches[0]?.answer();
  await expect.poll(() => batches.length, patient).toBe(5);
  for (const { answer } of batches) answer();
  expect(await more).toEqual({ result: "0x300" });
  await expect.poll(() => answered, patient).toBe(200);
});

test("beyond the budget one waits for a second's worth of calls and is refused the next, with when to ask again", async () => {
  const { batches, call } = node({ perSecond: 1, keptMs: 60_000 });
  const answers = Promise.all([call(4), call(5)]);
  const waiting = call(6);
  const refused = await call(99).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 1 });
  await turn();
  batches[0]?.answer();
  await answers;
  await expect.poll(() => batches.length, patient).toBe(2);
  batches[1]?.answer();
  expect(await waiting).toEqual({ result: "0x6" });
  // What is known costs nothing.
  expect(await call(5)).toEqual({ result: "0x5" });
  const answering = setInterval(() => {
    for (const { answer } of batches) answer();
  }, 5);
  try {
    await expect.poll(() => call(99).catch(() => null), patient).toEqual({ result: "0x99" });
  } finally {
    clearInterval(answering);
  }
});

test("beside one who asks for more than there is, others have their turns", async () => {
  const { batches, call } = node({ perSecond: 20, keptMs: 60_000 });
  const answering = setInterval(() => {
    for (const { answer } of batches) answer();
  }, 1);
  try {
    const flood = Array.from({ length: 300 }, (_, at) => call(1_000 + at, false, "address:flood").catch(() => null));
    // Its own share is full, and nobody else's: the next turns but one are theirs.
    const others = Array.from({ length: 5 }, (_, at) => call(2_000 + at, false, `address:${at}`));
    expect(await Promise.all(others)).toHaveLength(5);
    const answered = (await Promise.all(flood)).filter((one) => one !== null).length;
    expect(answered).toBeGreaterThanOrEqual(40);
    expect(answered).toBeLessThan(40 + 20 + 5);
  } finally {
    clearInterval(answering);
  }
});

test("a call that nobody can wait for any longer is refused, while the node hangs", async () => {
  const { batches, call } = node({ perSecond: 1_000, keptMs: 0 });
  for (let data = 100; data < 500; data += 1) void call(data).catch(() => undefined);
  await turn();
  expect(batches).toHaveLength(4);
  const late = await call(999).catch((error: unknown) => error);
  expect(late).toMatchObject({ code: "service_unavailable" });
});
