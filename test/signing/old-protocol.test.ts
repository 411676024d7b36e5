import {
  type Address,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseSignature,
  recoverTransactionAddress,
  serializeTransaction,
  zeroHash,
} from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { deploySelector, relayerRole, updateSelector } from "../../src/signing/rules.ts";
import { patient } from "../setup/wait.ts";
import { RunningSigner } from "./signer-fixture.ts";

const factory: Address = `0x${"11".repeat(20)}`;
const earlier: Address = `0x${"12".repeat(20)}`;
const collection: Address = `0x${"33".repeat(20)}`;
const thirdParty: Address = `0x${"44".repeat(20)}`;

let signer: RunningSigner;
let wallet: Address;
let second: Address;
let order: Record<string, unknown>;
beforeAll(async () => {
  const env = { MAX_FEE_GWEI_GOERLI: "50", FACTORIES_BEFORE_GOERLI: earlier, SIGNER_DAY_GOERLI: "3" };
  signer = await RunningSigner.start({ id: 31337, factory }, { env });
  [wallet = factory, second = factory] = signer.wallets;
  order = {
    ...{ kind: "deploy", wallet, chainId: 31337, nonce: 7, to: factory, data: `${deploySelector}00` },
    ...{ value: "0", gas: "500000", maxFeePerGas: String(50n * 10n ** 9n), maxPriorityFeePerGas: "1" },
  };
});
afterAll(() => signer?.stop());

const grant = (account: Address, role: Hex = relayerRole) =>
  encodeFunctionData({ abi: collectionFactoryAbi, functionName: "grantRole", args: [role, account] });
const sign = (changes: Record<string, unknown> = {}, token?: string | null) =>
  signer.ask("POST", "/v1/sign", { ...order, ...changes }, token);

describe("asked by version 0.2.0, the signer signs", () => {
  test.each([
    ["a deployment", () => ({})],
    ["a deployment by an earlier factory", () => ({ to: earlier })],
    ["an update of a collection", () => ({ kind: "update", to: collection, data: `${updateSelector}00` })],
    ["nothing to oneself", () => ({ kind: "cancellation", to: wallet, data: "0x" })],
  ])("%s, and logs it with chain, wallet, nonce, hash and kind", async (_, changes) => {
    const asked = { ...order, ...changes() } as Record<string, string> & { nonce: number; chainId: number };
    const { status, body } = await sign(changes());
    expect(status).toBe(200);
    const raw = serializeTransaction(
      {
        type: "eip1559",
        ...{ chainId: asked.chainId, nonce: asked.nonce, to: asked["to"] as Address, data: asked["data"] as Hex },
        ...{ value: 0n, gas: 500_000n, maxFeePerGas: 50n * 10n ** 9n, maxPriorityFeePerGas: 1n },
      },
      parseSignature(body["signature"] as Hex),
    );
    expect((await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toLowerCase()).toBe(
      wallet,
    );
    expect(body["hash"]).toBe(keccak256(raw));
    const line = () => signer.output.split("\n").find((text) => text.includes(keccak256(raw)));
    await expect.poll(line, patient).toBeDefined();
    const context = { chain: "goerli", wallet, nonce: 7, kind: asked["kind"], msg: "signed" };
    expect(JSON.parse(line() ?? "{}")).toMatchObject(context);
  });

  test("a role for one of its wallets, for whoever has the operator's token", async () => {
    const changes = { kind: "grant", data: grant(second) };
    expect(await sign(changes)).toMatchObject({ status: 403, body: { refused: expect.stringContaining("operator") } });
    expect((await sign(changes, signer.token("signer-admin-token"))).status).toBe(200);
  });
});

describe("asked by version 0.2.0, the signer refuses, whatever the asker says,", () => {
  test.each<[string, () => Record<string, unknown>, string]>([
    ["another chain", () => ({ chainId: 1 }), "no key of"],
    ["a wallet that it does not have", () => ({ wallet: thirdParty }), "no key of"],
    ["a factory that it was not told of", () => ({ to: thirdParty }), "no factory of this signer"],
    ["another call of the factory", () => ({ data: "0x8456cb59" }), "of the factory"],
    ["a role in the guise of a deployment", () => ({ data: grant(second) }), "of the factory"],
    ["money", () => ({ value: "1" }), "moves money"],
    ["a fee over the cap", () => ({ maxFeePerGas: String(51n * 10n ** 9n) }), "over the cap"],
    ["a tip over the fee", () => ({ maxPriorityFeePerGas: String(51n * 10n ** 9n) }), "over its fee"],
    ["too much gas", () => ({ gas: "16777217" }), "too much gas"],
    ["an empty call of somebody else", () => ({ kind: "cancellation", data: "0x", to: thirdParty }), "oneself"],
    ["data for oneself", () => ({ kind: "cancellation", to: wallet }), "no data"],
    ["an update of a factory", () => ({ kind: "update", data: `${updateSelector}00` }), "no collection"],
    [
      "another call of a collection",
      () => ({ kind: "update", to: collection, data: grant(second) }),
      "of a collection",
    ],
  ])("%s", async (_, changes, rule) => {
    // The operator's token changes none of these.
    for (const token of [signer.token(), signer.token("signer-admin-token")]) {
      const { status, body } = await sign(changes(), token);
      expect({ status, refused: body["refused"] }).toEqual({ status: 403, refused: expect.stringContaining(rule) });
      expect(body).not.toHaveProperty("signature");
    }
  });

  test("a role for a third party, and another role, even to the operator", async () => {
    for (const data of [grant(thirdParty), grant(second, zeroHash), `${grant(second)}00`])
      expect(await sign({ kind: "grant", data }, signer.token("signer-admin-token"))).toMatchObject({
        status: 403,
        body: { refused: expect.stringContaining("wallets of this signer only") },
      });
  });
});

test("several orders of one request are answered in their order, each as if it were alone", async () => {
  const many = (orders: unknown, token?: string | null) => signer.ask("POST", "/v1/sign-many", { orders }, token);
  const orders = [order, { ...order, value: "1" }, { ...order, more: 1 }, 7, { ...order, nonce: 8 }];
  const { status, body } = await many(orders);
  expect(status).toBe(200);
  const alone = await Promise.all([sign(), sign({ nonce: 8 })]);
  expect(body["answers"]).toMatchObject([
    { status: 200, signature: alone[0]?.body["signature"], hash: alone[0]?.body["hash"] },
    { status: 403, refused: expect.stringContaining("moves money") },
    { status: 400, error: expect.any(String) },
    { status: 400, error: expect.any(String) },
    { status: 200, signature: alone[1]?.body["signature"], hash: alone[1]?.body["hash"] },
  ]);
  // The operator's token is as necessary as for one.
  const role = { ...order, kind: "grant", data: grant(second) };
  expect((await many([role])).body["answers"]).toMatchObject([{ status: 403 }]);
  expect((await many([role], signer.token("signer-admin-token"))).body["answers"]).toMatchObject([{ status: 200 }]);
  expect((await many([order], "x".repeat(43))).status).toBe(401);
  for (const wrong of [[], null, "x", Array.from({ length: 9 }, () => order)])
    expect((await many(wrong)).status).toBe(400);
  expect((await signer.ask("POST", "/v1/sign-many", "null")).status).toBe(400);
  const large = { ...order, data: `0x${"00".repeat(80_000)}` };
  expect((await many([large, large])).status).toBe(413);
});

test("a legacy transaction has one price", async () => {
  const { maxFeePerGas } = order;
  const { status, body } = await sign({ legacy: true, maxPriorityFeePerGas: maxFeePerGas });
  expect(status).toBe(200);
  const raw = serializeTransaction(
    {
      ...{ type: "legacy", chainId: 31337, nonce: 7, to: factory, data: `${deploySelector}00`, value: 0n },
      ...{ gas: 500_000n, gasPrice: BigInt(String(maxFeePerGas)) },
    },
    parseSignature(body["signature"] as Hex),
  );
  expect(body["hash"]).toBe(keccak256(raw));
  for (const changes of [{ legacy: false }, { legacy: true }]) expect((await sign(changes)).status).toBe(400);
});

test("who has no token, or another one, gets nothing; what is no order is refused", async () => {
  for (const token of [null, "", "x".repeat(43), `${signer.token()}x`]) {
    expect((await sign({}, token)).status).toBe(401);
    expect((await signer.ask("GET", "/v1/wallets", undefined, token)).status).toBe(401);
  }
  expect(await signer.ask("GET", "/v1/wallets")).toMatchObject({
    status: 200,
    body: { wallets: { 31337: signer.wallets } },
  });
  for (const body of [
    "",
    "no json",
    "[]",
    { ...order, more: 1 },
    { ...order, from: order["wallet"] },
    { ...order, gasPrice: "0x1" },
    { ...order, kind: "transfer" },
    { ...order, nonce: -1 },
  ])
    expect((await signer.ask("POST", "/v1/sign", body)).status).toBe(400);
  for (const member of ["wallet", "to", "data", "value", "gas", "maxFeePerGas", "maxPriorityFeePerGas"])
    for (const value of [null, 5, "0xzz", "-1", undefined]) expect((await sign({ [member]: value })).status).toBe(400);
  expect((await signer.ask("POST", "/v1/sign", { ...order, data: `0x${"00".repeat(200_000)}` })).status).toBe(413);
  for (const path of ["/v1/keys", "/v1/sign?x"]) expect((await signer.ask("GET", path)).status).toBe(404);
});

test("of a day it signs what it may, also after a kill; the reason and what is left are said", async () => {
  // 0.8 of a coin each, of 3 a day; the tests before took a little.
  const large = (nonce: number) => sign({ nonce, gas: "16000000" });
  for (const nonce of [100, 101]) expect((await large(nonce)).status).toBe(200);
  const full = { status: 403, body: { refused: expect.stringContaining("SIGNER_DAY_<CHAIN>"), reason: "day" } };
  let nonce = 102;
  while ((await large(nonce)).status === 200) nonce += 1;
  expect(nonce).toBeLessThan(104);
  expect(await large(nonce)).toMatchObject(full);
  await signer.kill();
  await signer.restart();
  expect(await large(nonce)).toMatchObject(full);
  const { body } = await signer.ask("GET", "/v1/wallets");
  const left = BigInt((body["room"] as Record<string, string>)[31337] ?? -1);
  expect(left).toBeGreaterThan(0n);
  expect(left).toBeLessThan(16_000_000n * 50n * 10n ** 9n);
  // What fits is still signed.
  expect((await sign({ nonce })).status).toBe(200);
});
