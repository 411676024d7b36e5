import { lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import {
  type Address,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  numberToHex,
  parseTransaction,
  recoverTransactionAddress,
  stringToHex,
  toFunctionSelector,
  zeroHash,
} from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { loadConfig } from "../../src/config/config.ts";
import { deploySelector, grantSelector, relayerRole, updateSelector } from "../../src/signing/rules.ts";
import { loadSignerConfig } from "../../src/signing/signer-config.ts";
import { patient } from "../setup/wait.ts";
import { RunningSigner } from "./signer-fixture.ts";

const factory: Address = `0x${"11".repeat(20)}`;
const earlier: Address = `0x${"12".repeat(20)}`;
const collection: Address = `0x${"33".repeat(20)}`;
const thirdParty: Address = `0x${"44".repeat(20)}`;

const gwei = (amount: bigint) => numberToHex(amount * 10n ** 9n);

let signer: RunningSigner;
let wallet: Address;
let second: Address;
let order: Record<string, unknown>;
beforeAll(async () => {
  const env = { MAX_FEE_GWEI_GOERLI: "50", FACTORIES_BEFORE_GOERLI: earlier, SIGNER_DAY_GOERLI: "3" };
  signer = await RunningSigner.start({ id: 31337, factory }, { env });
  [wallet = factory, second = factory] = signer.wallets;
  order = {
    ...{ kind: "deploy", from: wallet, chainId: "0x7a69", nonce: "0x7", to: factory, data: `${deploySelector}00` },
    ...{ value: "0x0", gas: numberToHex(500_000), maxFeePerGas: gwei(50n), maxPriorityFeePerGas: "0x1" },
  };
});
afterAll(() => signer?.stop());

const grant = (account: Address, role: Hex = relayerRole) =>
  encodeFunctionData({ abi: collectionFactoryAbi, functionName: "grantRole", args: [role, account] });
interface Answer {
  id: unknown;
  result?: Hex;
  error?: { code: number; message: string; data?: unknown };
}
const call = (method: string, params: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, method, params });
const post = async (body: unknown, token?: string | null) => {
  const answer = await signer.ask("POST", "/", body, token);
  return { ...answer, body: answer.body as unknown as Answer };
};
const sign = async (changes: Record<string, unknown> = {}, token?: string | null) =>
  (await post(call("eth_signTransaction", [{ ...order, ...changes }]), token)).body;
const rejected = (why: string) => ({ id: 1, error: { code: -32003, message: expect.stringContaining(why) } });
const invalid = { error: { code: -32602 } };

test("the selectors of the rules are those of the contracts", () => {
  const config = "(string,bool,uint256,bool,uint256,bool,uint256,uint256,string,bytes32,uint256,address)";
  expect(deploySelector).toBe(toFunctionSelector("deploy(bytes32,address,bytes)"));
  expect(updateSelector).toBe(toFunctionSelector(`updateConfig(${config})`));
  expect(grantSelector).toBe(toFunctionSelector("grantRole(bytes32,address)"));
  expect(relayerRole).toBe(keccak256(stringToHex("RELAYER_ROLE")));
});

describe("the signer's process signs", () => {
  test.each([
    ["a deployment", () => ({})],
    ["a deployment by an earlier factory", () => ({ to: earlier })],
    ["an update of a collection", () => ({ kind: "update", to: collection, data: `${updateSelector}00` })],
    ["nothing to oneself", () => ({ kind: "cancellation", to: wallet, data: "0x" })],
  ])("%s, and logs it with chain, wallet, nonce, hash and kind", async (_, changes) => {
    const asked: Record<string, unknown> = { ...order, ...changes() };
    const { result: raw = "0x" } = await sign(changes());
    expect(parseTransaction(raw)).toMatchObject({
      ...{ type: "eip1559", chainId: 31337, nonce: 7, to: asked["to"], gas: 500_000n },
      ...{ maxFeePerGas: 50n * 10n ** 9n, maxPriorityFeePerGas: 1n },
    });
    expect(parseTransaction(raw).data ?? "0x").toBe(asked["data"]);
    expect(parseTransaction(raw).value ?? 0n).toBe(0n);
    expect((await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toLowerCase()).toBe(
      wallet,
    );
    const line = () => signer.output.split("\n").find((text) => text.includes(keccak256(raw)));
    await expect.poll(line, patient).toBeDefined();
    const context = { chain: "goerli", wallet, nonce: 7, kind: asked["kind"], msg: "signed" };
    expect(JSON.parse(line() ?? "{}")).toMatchObject(context);
  });

  test("a role for one of its wallets, for whoever has the operator's token", async () => {
    const changes = { kind: "grant", data: grant(second) };
    expect(await sign(changes)).toMatchObject(rejected("operator"));
    expect(await sign(changes, signer.token("signer-admin-token"))).toHaveProperty("result");
  });

  test("a legacy transaction, which has one price", async () => {
    const { maxFeePerGas: gasPrice, maxPriorityFeePerGas: _, ...fields } = order;
    const { body } = await post(call("eth_signTransaction", [{ ...fields, gasPrice }]));
    const raw = body.result ?? "0x";
    expect(parseTransaction(raw)).toMatchObject({ type: "legacy", chainId: 31337, gasPrice: 50n * 10n ** 9n });
    expect(await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toBe(getAddress(wallet));
    expect(await sign({ gasPrice })).toMatchObject(invalid);
  });
});

describe("the signer's process refuses, whatever the asker says,", () => {
  test.each<[string, () => Record<string, unknown>, string]>([
    ["another chain", () => ({ chainId: "0x1" }), "no key of"],
    ["a wallet that it does not have", () => ({ from: thirdParty }), "no key of"],
    ["a factory that it was not told of", () => ({ to: thirdParty }), "no factory of this signer"],
    ["another call of the factory", () => ({ data: "0x8456cb59" }), "of the factory"],
    ["a role in the guise of a deployment", () => ({ data: grant(second) }), "of the factory"],
    ["money", () => ({ value: "0x1" }), "moves money"],
    ["a fee over the cap", () => ({ maxFeePerGas: gwei(51n) }), "over the cap"],
    ["a tip over the fee", () => ({ maxPriorityFeePerGas: gwei(51n) }), "over its fee"],
    ["too much gas", () => ({ gas: numberToHex(16_777_217) }), "too much gas"],
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
      const answer = await sign(changes(), token);
      expect(answer).toMatchObject(rejected(rule));
      expect(answer).not.toHaveProperty("result");
    }
  });

  test("a role for a third party, and another role, even to the operator", async () => {
    for (const data of [grant(thirdParty), grant(second, zeroHash), `${grant(second)}00`])
      expect(await sign({ kind: "grant", data }, signer.token("signer-admin-token"))).toMatchObject(
        rejected("wallets of this signer only"),
      );
  });
});

test("several requests of one batch are answered each as if it were alone", async () => {
  const batch = async (requests: unknown, token?: string | null) => {
    const { status, body } = await post(requests, token);
    return { status, answers: body as unknown as Answer[] };
  };
  const asked = (order: unknown, id: unknown) => call("eth_signTransaction", [order], id);
  const orders = [order, { ...order, value: "0x1" }, { ...order, more: 1 }, 7, { ...order, nonce: "0x8" }];
  const { status, answers } = await batch(orders.map(asked));
  expect(status).toBe(200);
  const alone = await Promise.all([sign(), sign({ nonce: "0x8" })]);
  expect(answers).toMatchObject([
    { id: 0, result: alone[0]?.result },
    { id: 1, error: { code: -32003, message: expect.stringContaining("moves money") } },
    { id: 2, ...invalid },
    { id: 3, ...invalid },
    { id: 4, result: alone[1]?.result },
  ]);
  // The operator's token is as necessary as for one.
  const role = asked({ ...order, kind: "grant", data: grant(second) }, 0);
  expect((await batch([role])).answers).toMatchObject([{ error: { code: -32003 } }]);
  const [granted] = (await batch([role], signer.token("signer-admin-token"))).answers;
  expect(granted).toHaveProperty("result");
  expect((await batch([asked(order, 0)], "x".repeat(43))).status).toBe(401);
  for (const wrong of [[], Array.from({ length: 9 }, () => asked(order, 0))])
    expect((await batch(wrong)).status).toBe(400);
  expect((await batch([null, 7, {}])).answers).toMatchObject(Array(3).fill({ id: null, error: { code: -32601 } }));
  const large = asked({ ...order, data: `0x${"00".repeat(80_000)}` }, 0);
  expect((await batch([large, large])).status).toBe(413);
});

test("who has no token, or another one, gets nothing; what is no order is refused", async () => {
  for (const token of [null, "", "x".repeat(43), `${signer.token()}x`]) {
    expect(await post(call("eth_accounts", []), token)).toMatchObject({ status: 401 });
    for (const path of ["/upcheck", "/v1/wallets"])
      expect((await signer.ask("GET", path, undefined, token)).status).toBe(401);
  }
  expect(await signer.ask("GET", "/upcheck")).toMatchObject({ status: 200, text: "OK" });
  for (const body of ["", "no json"])
    expect(await post(body)).toMatchObject({ status: 400, body: { id: null, error: { code: -32700 } } });
  expect(await post(call("eth_sign", [wallet, "0x00"]))).toMatchObject({
    status: 200,
    body: { error: { code: -32601 } },
  });
  for (const params of [undefined, null, [], [order, order], [[order]], order])
    expect((await post(call("eth_signTransaction", params))).body).toMatchObject(invalid);
  for (const changes of [
    ...[{ more: 1 }, { kind: "transfer" }, { kind: undefined }, { nonce: "-1" }, { nonce: `0x${"f".repeat(14)}` }],
    // Members that would change what is signed.
    ...[{ input: "0x00" }, { accessList: [] }, { type: "0x3" }, { wallet }],
  ])
    expect(await sign(changes)).toMatchObject(invalid);
  for (const member of Object.keys(order))
    for (const value of [null, 5, "0xzz", "-1", "0", undefined])
      expect(await sign({ [member]: value })).toMatchObject(invalid);
  expect((await post(call("eth_signTransaction", [{ ...order, data: `0x${"00".repeat(200_000)}` }]))).status).toBe(413);
  for (const path of ["/", "/v1/keys", "/upcheck?x"]) expect((await signer.ask("GET", path)).status).toBe(404);
});

test("an id that is no text and no number is not repeated, however deep it is", async () => {
  const deep = "[".repeat(140_000) + "]".repeat(140_000);
  const { status, body } = await signer.ask(
    "POST",
    "/",
    `{"jsonrpc":"2.0","method":"eth_accounts","params":[],"id":${deep}}`,
  );
  expect([status, body]).toEqual([200, { jsonrpc: "2.0", id: null, result: signer.wallets }]);
  expect((await post(call("eth_accounts", [], "a"))).body.id).toBe("a");
});

test("eth_accounts has the wallets, of one chain where it is named", async () => {
  const accounts = async (params: unknown) => (await post(call("eth_accounts", params))).body.result;
  expect(await accounts([])).toEqual(signer.wallets);
  expect(await accounts(undefined)).toEqual(signer.wallets);
  expect(await accounts([{ chainId: 31337 }])).toEqual(signer.wallets);
  expect(await accounts([{ chainId: "0x7a69" }])).toEqual(signer.wallets);
  expect(await accounts([{ chainId: 1 }])).toEqual([]);
});

test("its socket and its tokens are its user's alone, and no answer or log line has a key", async () => {
  expect(lstatSync(signer.socket).isSocket()).toBe(true);
  const files = [signer.socket, join(signer.dir, "keys/signer-token"), join(signer.dir, "keys/signer-admin-token")];
  expect(files.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual(["600", "600", "600"]);
  const answered = [await post(call("eth_signTransaction", [order])), await post(call("eth_accounts", []))];
  const texts = [signer.output, ...answered.map(({ text }) => text)];
  for (const key of signer.keys) for (const text of texts) expect(text).not.toContain(key.slice(2));
});

test("of a day it signs what it may, also after a kill, and says the reason", async () => {
  // 0.8 of a coin each, of 3 a day; the tests before took a little.
  const large = (nonce: number) => sign({ nonce: numberToHex(nonce), gas: numberToHex(16_000_000) });
  for (const nonce of [100, 101]) expect(await large(nonce)).toHaveProperty("result");
  const full = {
    error: { code: -32003, message: expect.stringContaining("SIGNER_DAY_<CHAIN>"), data: { reason: "day" } },
  };
  let nonce = 102;
  while ((await large(nonce)).result) nonce += 1;
  expect(nonce).toBeLessThan(104);
  expect(await large(nonce)).toMatchObject(full);
  await signer.kill();
  await signer.restart();
  expect(await large(nonce)).toMatchObject(full);
  // What fits is still signed.
  expect(await sign({ nonce: numberToHex(nonce) })).toHaveProperty("result");
});

test("a second signer on the same socket does not start; after a kill the next one takes the socket over", async () => {
  await expect(signer.startTwin()).rejects.toThrow(/SIGNER_LISTEN: another signer listens on/);
  await signer.kill();
  await signer.restart();
  expect(await sign()).toHaveProperty("result");
});

test("wrong settings are named, without keys", () => {
  const key = "ab".repeat(32);
  const base = { MINTYARD_DATA_DIR: signer.dir, RELAYER_KEY_POLYGON: key };
  const load = (env: Record<string, string>) => () => loadSignerConfig({ ...base, ...env });
  expect(load({})).not.toThrow();
  expect(load({ RELAYER_KEY_POLYGON: "" })).toThrow("RELAYER_KEY_FILE_<CHAIN>: missing");
  expect(load({ RELAYER_KEY_POLYGON: `${key}00` })).toThrow(/^RELAYER_KEY_POLYGON: 32 bytes of hex are wanted$/);
  expect(load({ RELAYER_KEY_BASE: key })).toThrow("CHAIN_ID_BASE: missing");
  expect(load({ SIGNER_TOKEN: "short" })).toThrow("SIGNER_TOKEN: at least 32 characters");
  expect(load({ SIGNER_LISTEN: "http://10.0.0.1:9000" })).toThrow("SIGNER_LISTEN: the signer is asked on this machine");
  expect(load({ SIGNER_LISTEN: `unix:/${"x".repeat(120)}` })).toThrow("at most 107 bytes");
  expect(load({ SIGNER_SOCKET_MODE: "666" })).toThrow(/^SIGNER_SOCKET_MODE: .*; 600 or 660 is wanted$/);
  expect(load({ WEB3SIGNER_URL: "ftp://x" })).toThrow("WEB3SIGNER_URL: http");
});

test("where a signer is named, the service's configuration has no key, whatever its environment holds", () => {
  const key = "ab".repeat(32);
  const missing = "/nowhere/relayer";
  const env = {
    ...{ DATABASE_URL: "postgres://x", RPC_URL_POLYGON: "http://127.0.0.1:1", FACTORY_POLYGON: factory },
    ...{ RELAYER_KEY_POLYGON: `${key},${key}`, RELAYER_KEY_FILE_POLYGON: missing, RELAYER_KEYSTORE_POLYGON: missing },
    RELAYER_ADDRESS_POLYGON: wallet,
  };
  for (const place of [{ SIGNER_URL: `unix:${signer.socket}` }, { WEB3SIGNER_URL: "http://127.0.0.1:9000" }]) {
    const config = loadConfig({ ...env, ...place });
    const text = JSON.stringify(config, (_name, value) => (typeof value === "bigint" ? String(value) : value));
    expect(text).not.toContain(key);
    expect(text).not.toContain(missing);
    expect(config.chains[0]).toMatchObject({
      relayerKey: null,
      relay: { moreKeys: [], keystores: [], wallets: [wallet] },
    });
  }
});
