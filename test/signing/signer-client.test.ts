import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "viem";
import { generatePrivateKey } from "viem/accounts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Chain, defaultRelayPolicy } from "../../src/chains.ts";
import { DaySpending } from "../../src/signing/day-spending.ts";
import { rulesHeader } from "../../src/signing/json-rpc.ts";
import { keySigner } from "../../src/signing/keyrings.ts";
import { deploySelector } from "../../src/signing/rules.ts";
import { type Signer, type SigningOrder, signChecked } from "../../src/signing/signer.ts";
import { signerProcess } from "../../src/signing/signer-client.ts";
import { createSignerServer } from "../../src/signing/signer-server.ts";
import type { SigningBackend } from "../../src/signing/signing-backend.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const factory: Address = `0x${"11".repeat(20)}`;
const wallet = keySigner(generatePrivateKey());
const token = "t".repeat(40);
const log = createLogger("test", "silent");
const order: SigningOrder = {
  kind: "deploy",
  transaction: {
    ...{ chainId: 31337, nonce: 7, to: factory, data: `${deploySelector}0a`, value: 0n },
    ...{ gas: 500_000n, maxFeePerGas: 100n, maxPriorityFeePerGas: 1n },
  },
};

let dir: string;
let backend: SigningBackend;
let signer: Signer;
let chain: Chain;
let server: Server | null = null;
beforeEach(async () => {
  dir = temporaryFolder();
  backend = signerProcess({ endpoint: { socketPath: join(dir, "signer.sock") }, token: { value: token } }, log);
  const relay = { ...defaultRelayPolicy(31337, true), wallets: [wallet.address] };
  chain = { id: 31337, relay } as Partial<Chain> as Chain;
  const [first] = backend.wallets(chain);
  if (!first) throw new Error("no wallet");
  signer = first;
});
afterEach(async () => {
  backend.close();
  await close();
});

async function listen(next: Server): Promise<void> {
  server = next;
  await new Promise<void>((ready) => next.listen(join(dir, "signer.sock"), ready));
}

async function close(): Promise<void> {
  const closing = server;
  server = null;
  closing?.closeAllConnections();
  await new Promise((done) => (closing ? closing.close(done) : done(null)));
}

/** A server that says of itself that it keeps the rules. */
function standIn(answer: RequestListener): Server {
  return createServer((request, response) => {
    response.setHeader(rulesHeader, "rules");
    answer(request, response);
  });
}

/** The signer's own server over a wallet that signs as it is told here. */
function serverOf(sign: Signer["sign"], dayWei: bigint | null = null): Server {
  const policy = {
    ...{ chainId: 31337, maxFeeWei: 100n, factories: [factory], operators: [], wallets: [wallet.address] },
    ...{ roles: false, dayWei },
  };
  const keyrings = [{ chain: "goerli", policy, signers: [{ ...wallet, sign }] }];
  const spending = new DaySpending(join(dir, "spending.json"));
  return createSignerServer({ keyrings, token, adminToken: `${token}a`, spending, log });
}

test("a day that is used up is a trouble of its own, and ends with more room", async () => {
  const cost = order.transaction.gas * order.transaction.maxFeePerGas;
  const next = { ...order, transaction: { ...order.transaction, nonce: 8 } };
  await listen(serverOf(wallet.sign, cost + 1n));
  await signChecked(signer, order);
  // The same bytes again, as after a crash, cost nothing more.
  await signChecked(signer, order);
  const spent = { code: "service_unavailable", trouble: "spent", reason: "day" };
  await expect(signChecked(signer, next)).rejects.toMatchObject(spent);
  expect(await backend.check()).toBe("spent");
  await expect(signChecked(signer, next)).rejects.toMatchObject(spent);
  // Another start with the same limit remembers; with a higher one it signs again.
  await close();
  await listen(serverOf(wallet.sign, cost + 1n));
  await expect(signChecked(signer, next)).rejects.toMatchObject(spent);
  await close();
  await listen(serverOf(wallet.sign, 4n * cost));
  await signChecked(signer, next);
  expect(await backend.check()).toBeNull();
});

test("a signer with another key than the wallet's is found by its first signature, also after a restart", async () => {
  const other = keySigner(generatePrivateKey());
  await listen(serverOf(other.sign));
  const wrong = { code: "service_unavailable", trouble: "wrong_answer" };
  await expect(signChecked(signer, order)).rejects.toMatchObject(wrong);
  expect(await backend.check()).toBe("wrong_answer");
  await close();
  await listen(serverOf(wallet.sign));
  await signChecked(signer, order);
  await signChecked(signer, order);
  expect(await backend.check()).toBeNull();
  await close();
  await expect(signChecked(signer, order)).rejects.toMatchObject({ trouble: "unreachable" });
  await listen(serverOf(other.sign));
  await expect(signChecked(signer, order)).rejects.toMatchObject(wrong);
});

test("a signature under another transaction is found each time", async () => {
  await listen(serverOf(wallet.sign));
  await signChecked(signer, order);
  await close();
  const wrong: RequestListener = async (_, response) => {
    const { raw } = await signChecked(wallet, numbered(8));
    response.end(JSON.stringify({ jsonrpc: "2.0", id: 0, result: raw }));
  };
  await listen(standIn(wrong));
  await expect(signChecked(signer, order)).rejects.toMatchObject({ trouble: "wrong_answer" });
});

const numbered = (nonce: number, changes: Partial<SigningOrder> = {}): SigningOrder => ({
  ...order,
  ...changes,
  transaction: { ...order.transaction, nonce },
});
const signAll = (orders: readonly SigningOrder[]) =>
  Promise.allSettled(orders.map((each) => signChecked(signer, each)));

/** The paths that a server is asked for. */
function watched(next: Server): string[] {
  const seen: string[] = [];
  next.prependListener("request", ({ url = "" }) => seen.push(url));
  return seen;
}

test("orders of one moment go in one request, and one that is refused leaves the others alone", async () => {
  const next = serverOf(wallet.sign);
  const seen = watched(next);
  await listen(next);
  const orders = [numbered(1), numbered(2, { kind: "cancellation" }), numbered(3)];
  const outcomes = await signAll(orders);
  expect(seen).toEqual(["/"]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[1]).toMatchObject({ reason: { trouble: "refused", code: "service_unavailable" } });
  for (const index of [0, 2]) {
    const { hash } = await signChecked(wallet, orders[index] ?? order);
    expect(outcomes[index]).toMatchObject({ value: { hash } });
  }
  // More than a request may hold, and one that is alone.
  await signAll(Array.from({ length: 17 }, (_, nonce) => numbered(nonce)));
  expect(seen.slice(1)).toEqual(["/", "/", "/"]);
});

test("what signs and does not say that it keeps the rules is not asked: a Web3Signer at SIGNER_URL", async () => {
  const { raw } = await signChecked(wallet, order);
  const answer = (body: string) => (response: ServerResponse) => response.end(body);
  const ok = answer("OK");
  const signed = answer(JSON.stringify({ jsonrpc: "2.0", id: 0, result: raw }));
  await listen(createServer(({ url }, response) => void (url === "/upcheck" ? ok : signed)(response)));
  await expect(backend.requireAnswer()).rejects.toMatchObject({ trouble: "wrong_answer" });
  const cause = { message: expect.stringContaining("WEB3SIGNER_URL") };
  await expect(signChecked(signer, order)).rejects.toMatchObject({ trouble: "wrong_answer", cause });
});

test("an answer that breaks off on a kept connection is asked for once more, and fails once", async () => {
  let asked = 0;
  const { raw } = await signChecked(wallet, order);
  const text = JSON.stringify({ jsonrpc: "2.0", id: 0, result: raw });
  await listen(
    standIn((_, response) => {
      asked += 1;
      if (asked === 1) return void response.end(text);
      response.writeHead(200, { "content-length": text.length }).write(text.slice(0, 20));
      setImmediate(() => response.destroy());
    }),
  );
  await signChecked(signer, order);
  await expect(signChecked(signer, order)).rejects.toMatchObject({ trouble: "unreachable" });
  await sleep(100);
  expect(asked).toBe(3);
});

test("signatures in another order than they were asked for are found", async () => {
  await listen(serverOf(wallet.sign));
  await signChecked(signer, order);
  await close();
  const [first, second] = await Promise.all([1, 2].map((nonce) => signChecked(wallet, numbered(nonce))));
  const wrong = { status: "rejected", reason: { trouble: "wrong_answer" } };
  const answer = async (answers: readonly unknown[]) => {
    await listen(standIn((_, response) => void response.end(JSON.stringify(answers))));
    const outcomes = await signAll([numbered(1), numbered(2)]);
    await close();
    return outcomes;
  };
  const result = (id: number, raw: string | undefined) => ({ jsonrpc: "2.0", id, result: raw });
  expect(await answer([result(0, second?.raw), result(1, first?.raw)])).toMatchObject([wrong, wrong]);
  // The answers of a batch have their ids, in any order.
  const fulfilled = { status: "fulfilled" };
  expect(await answer([result(1, second?.raw), result(0, first?.raw)])).toMatchObject([fulfilled, fulfilled]);
  // Neither is the signature of one taken for another's.
  expect(await answer([result(0, first?.raw)])).toMatchObject([fulfilled, wrong]);
});

test("requests wait while the signer has an earlier version, which does not know the path", async () => {
  await listen(standIn((_, response) => void response.writeHead(404).end("{}")));
  await expect(backend.requireAnswer()).rejects.toMatchObject({ trouble: "unreachable" });
  const outcomes = await signAll([numbered(1), numbered(2)]);
  const cause = { message: expect.stringContaining("the signer has an earlier version") };
  const away = { status: "rejected", reason: { trouble: "unreachable", cause } };
  expect(outcomes).toMatchObject([away, away]);
  await close();
  await listen(serverOf(wallet.sign));
  expect(await signAll([numbered(1)])).toMatchObject([{ status: "fulfilled" }]);
});

test("what signs behind the signer and is away is unreachable; a rule's refusal and its reason come as they are", async () => {
  const answer = async (error: unknown) => {
    await listen(standIn((_, response) => void response.end(JSON.stringify({ jsonrpc: "2.0", id: 0, error }))));
    const failure = await signChecked(signer, order).catch((thrown: unknown) => thrown);
    await close();
    return failure;
  };
  for (const code of [-32002, -32603]) expect(await answer({ code })).toMatchObject({ trouble: "unreachable" });
  expect(await answer({ code: -32003 })).toMatchObject({ trouble: "refused", reason: null });
  expect(await answer({ code: -32602 })).toMatchObject({ trouble: "refused", reason: null });
  for (const [reason, trouble] of [
    ["roles", "refused"],
    ["day", "spent"],
  ])
    expect(await answer({ code: -32003, data: { reason } })).toMatchObject({ trouble, reason });
});

test("the wallets that the signer holds on a chain", async () => {
  await listen(serverOf(wallet.sign));
  expect(await backend.held(chain)).toEqual([wallet.address]);
  expect(await backend.held({ ...chain, id: 1 })).toEqual([]);
});

test.each<[string, RequestListener, string]>([
  ["no JSON", (_, response) => void response.end("<html>"), "wrong_answer"],
  ["no signature", (_, response) => void response.end("{}"), "wrong_answer"],
  ["more than an answer has", (_, response) => void response.end("x".repeat(1_000_000)), "unreachable"],
  ["an end of the connection", (_, response) => void response.destroy(), "unreachable"],
  ["nothing", () => undefined, "unreachable"],
  ["an error of its own", (_, response) => void response.writeHead(500).end(), "unreachable"],
])("%s in the place of a signature is a trouble that is named", async (_, answer, trouble) => {
  await listen(createServer(answer));
  await expect(signChecked(signer, order)).rejects.toMatchObject({ code: "service_unavailable", trouble });
});
