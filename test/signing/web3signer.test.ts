import { type Address, keccak256, recoverTransactionAddress } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeOrder } from "../../src/signing/json-rpc.ts";
import { deploySelector, type SigningPolicy } from "../../src/signing/rules.ts";
import { encodeTransaction, type Signer, type SigningOrder, signChecked } from "../../src/signing/signer.ts";
import { web3Signer } from "../../src/signing/signer-client.ts";
import type { SigningBackend } from "../../src/signing/signing-backend.ts";
import type { SignerTrouble } from "../../src/signing/trouble.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { RunningSigner } from "./signer-fixture.ts";
import { type Misbehaviour, Web3SignerStandIn } from "./web3signer-stand-in.ts";

const key = generatePrivateKey();
const wallet = privateKeyToAccount(key).address.toLowerCase() as Address;
const factory: Address = `0x${"11".repeat(20)}`;
const policy: SigningPolicy = {
  chainId: 31337,
  maxFeeWei: 100n,
  factories: [factory],
  operators: [],
  wallets: [wallet],
  roles: false,
  dayWei: null,
};
const order: SigningOrder = {
  kind: "deploy",
  transaction: {
    ...{ chainId: 31337, nonce: 7, to: factory, data: `${deploySelector}0a0b`, value: 0n },
    ...{ gas: 500_000n, maxFeePerGas: 100n, maxPriorityFeePerGas: 1n },
  },
};

let standIn: Web3SignerStandIn;
beforeAll(async () => {
  standIn = await Web3SignerStandIn.start(key, policy.chainId);
});
beforeEach(() => {
  standIn.behaviour = "right";
});
afterAll(() => standIn?.stop());

/** What is wrong with the answer, and what this process then says of the Web3Signer. */
const wrong: [Misbehaviour, SignerTrouble][] = [
  ["another nonce", "wrong_answer"],
  ["another receiver", "wrong_answer"],
  ["another sender", "wrong_answer"],
  ["a high s", "wrong_answer"],
  ["garbage", "wrong_answer"],
  ["an empty answer", "wrong_answer"],
  ["a huge answer", "unreachable"],
  ["no answer", "unreachable"],
  ["a closed connection", "unreachable"],
  ["500", "unreachable"],
  ["404", "refused"],
];

describe.each(["sign", "transaction"] as const)("a Web3Signer that is asked by %s", (method) => {
  let backend: SigningBackend & { walletsOf(chainId: number, addresses: readonly Address[]): Signer[] };
  let signer: Signer;
  beforeAll(() => {
    backend = web3Signer(
      { url: standIn.url, method, timeoutMs: 2_000 },
      () => policy,
      createLogger("test", "silent"),
      false,
    );
    const [first] = backend.walletsOf(policy.chainId, [wallet]);
    if (!first) throw new Error("no wallet");
    signer = first;
  });
  afterAll(() => backend.close());

  test("signs exactly the transaction that it was given", async () => {
    const { raw, hash } = await signChecked(signer, order);
    expect(hash).toBe(keccak256(raw));
    expect((await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })).toLowerCase()).toBe(
      wallet,
    );
    // Taking the signature off gives the bytes that were to be signed.
    const unsigned = encodeTransaction(order.transaction).slice(-40);
    expect(raw).toContain(unsigned.slice(0, 30));
    expect(await backend.check()).toBeNull();
  });

  test("signs a legacy transaction for a chain that takes no other", async () => {
    const transaction = { ...order.transaction, maxPriorityFeePerGas: 100n, legacy: true };
    const { raw, hash } = await signChecked(signer, { ...order, transaction });
    expect(hash).toBe(keccak256(raw));
    const expected = { ...order.transaction, type: "legacy", gasPrice: 100n } as const;
    const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...fields } = expected;
    expect(raw).toBe(await privateKeyToAccount(key).signTransaction(fields));
    await expect(
      signChecked(signer, { ...order, transaction: { ...order.transaction, legacy: true } }),
    ).rejects.toThrow("one price");
  });

  test.each(wrong)("is not believed when it gives %s: %s", async (behaviour, trouble) => {
    standIn.behaviour = behaviour;
    const failure = await signChecked(signer, order).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "service_unavailable", trouble });
    standIn.behaviour = "right";
    await signChecked(signer, order);
    expect(await backend.check()).toBeNull();
  });

  test("is not even asked for what the rules forbid", async () => {
    const before = standIn.asked;
    for (const changes of [{ value: 1n }, { to: wallet }, { maxFeePerGas: 101n }, { chainId: 1 }])
      await expect(
        signChecked(signer, { ...order, transaction: { ...order.transaction, ...changes } }),
      ).rejects.toMatchObject({ name: "SigningRefused" });
    await expect(signChecked(signer, { ...order, kind: "grant" })).rejects.toThrow("operator's own command");
    expect(standIn.asked).toBe(before);
  });

  test("without the wallet's key is told of", async () => {
    const [other] = backend.walletsOf(policy.chainId, [factory]);
    if (!other) throw new Error("no wallet");
    const failure = await signChecked(other, order).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "service_unavailable" });
    await signChecked(signer, order);
  });
});

test("the signer's own process stands in front of a Web3Signer: its rules, the other's key", async () => {
  const signer = await RunningSigner.start(
    { id: policy.chainId, factory },
    { keys: [key], env: { WEB3SIGNER_URL: standIn.url, RELAYER_ADDRESS_GOERLI: wallet, RELAYER_KEY_GOERLI: "" } },
  );
  try {
    const asked = writeOrder(wallet, order);
    const ask = async (params: Record<string, string>) =>
      (await signer.ask("POST", "/", { jsonrpc: "2.0", id: 1, method: "eth_signTransaction", params: [params] })).body;
    const before = standIn.asked;
    expect(await ask(asked)).toHaveProperty("result");
    expect(standIn.asked).toBe(before + 1);
    const { maxFeePerGas: gasPrice = "", maxPriorityFeePerGas: _, ...fields } = asked;
    expect(await ask({ ...fields, gasPrice })).toHaveProperty("result");
    expect(await ask({ ...asked, gasPrice })).toMatchObject({ error: { code: -32602 } });
    expect(standIn.asked).toBe(before + 2);
    expect(await ask({ ...asked, value: "0x1" })).toMatchObject({ error: { code: -32003, message: "it moves money" } });
    expect(standIn.asked).toBe(before + 2);
    standIn.behaviour = "another sender";
    expect(await ask(asked)).toMatchObject({ error: { code: -32002 } });
  } finally {
    await signer.stop();
  }
});
