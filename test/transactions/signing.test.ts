import { createCipheriv, randomBytes, scryptSync } from "node:crypto";
import fc from "fast-check";
import { bytesToHex, type Hex, keccak256, parseTransaction, recoverTransactionAddress, serializeSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount, setSignEntropy, sign } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { keySigner } from "../../src/signing/keyrings.ts";
import { decryptKeystore } from "../../src/signing/keystore.ts";
import {
  encodeTransaction,
  type Signer,
  type SigningKind,
  signChecked,
  type Unsigned,
} from "../../src/signing/signer.ts";
import { bumpFees } from "../../src/transactions/chain/fees.ts";
import { callKind, type Intent } from "../../src/transactions/store/intents.ts";
import { checkProposal } from "../../src/transactions/submit/sign-attempt.ts";

const wei = fc.bigInt({ min: 1n, max: 10n ** 30n });

test("a replacement raises both fees by an eighth at least, exactly, and never passes the cap", () => {
  fc.assert(
    fc.property(wei, wei, wei, wei, wei, (fee, tip, freshFee, freshTip, cap) => {
      fc.pre(tip <= fee && freshTip <= freshFee);
      const bumped = bumpFees(
        { maxFeePerGas: fee, maxPriorityFeePerGas: tip },
        { maxFeePerGas: freshFee, maxPriorityFeePerGas: freshTip },
        cap,
      );
      if (!bumped) return fee * 9n > cap * 8n || tip * 9n > cap * 8n;
      return (
        bumped.maxFeePerGas * 8n >= fee * 9n &&
        bumped.maxPriorityFeePerGas * 8n >= tip * 9n &&
        bumped.maxPriorityFeePerGas <= bumped.maxFeePerGas &&
        bumped.maxFeePerGas <= cap
      );
    }),
  );
});

describe("a key file", () => {
  const key = generatePrivateKey();
  const json = sealKey(key, "correct horse");

  test("opens with its password and with no other", () => {
    expect(decryptKeystore(json, "correct horse")).toBe(key);
    expect(() => decryptKeystore(json, "wrong")).toThrow("the password does not open the key file");
    expect(() => decryptKeystore("{}", "wrong")).toThrow("not a V3 key file");
  });
});

describe("bytes are stored only when the signature", () => {
  const key = generatePrivateKey();
  const account = privateKeyToAccount(key);
  const transaction = {
    chainId: 31337,
    nonce: 3,
    to: account.address,
    data: "0x",
    value: 0n,
    gas: 21_000n,
    maxFeePerGas: 10n,
    maxPriorityFeePerGas: 1n,
  } as const;
  const order = { kind: "cancellation", transaction } as const;

  test("is the wallet's own, whatever k it was made with", async () => {
    const { raw, hash } = await signChecked(randomSigner(key), order);
    const again = await signChecked(randomSigner(key), order);
    expect(again.hash).not.toBe(hash);
    for (const bytes of [raw, again.raw]) {
      const serializedTransaction = bytes as `0x02${string}`;
      expect(await recoverTransactionAddress({ serializedTransaction })).toBe(account.address);
      expect(parseTransaction(bytes).nonce).toBe(3);
    }
    expect(hash).toBe(keccak256(raw));
  });

  test("is not another key's, and has no high s", async () => {
    const thirdParty = { address: account.address, sign: keySigner(generatePrivateKey()).sign };
    await expect(signChecked(thirdParty, order)).rejects.toThrow("signed as");
    await expect(signChecked(randomSigner(key, true), order)).rejects.toThrow("high s");
  });
});

describe("a paying wallet signs nothing but", () => {
  const [chain] = loadConfig({
    DATABASE_URL: "postgres://x",
    RPC_URL_GOERLI: "http://127.0.0.1:1",
    MAX_FEE_GWEI_GOERLI: "50",
  }).chains;
  const factory: Hex = `0x${"11".repeat(20)}`;
  const self: Hex = `0x${"22".repeat(20)}`;
  const collection: Hex = `0x${"33".repeat(20)}`;
  const intent = {
    id: "x",
    chain_id: 5,
    kind: "deploy",
    factory: Buffer.alloc(20, 0x11),
    predicted_addr: Buffer.alloc(20, 0x33),
  } as unknown as Intent;
  const deploy: Unsigned = {
    chainId: 5,
    nonce: 0,
    to: factory,
    data: "0x2c5f1b43",
    value: 0n,
    gas: 1n,
    maxFeePerGas: 50n * 10n ** 9n,
    maxPriorityFeePerGas: 1n,
  };
  const check = (changes: Partial<Unsigned>, of: Partial<Intent> = {}) => {
    if (!chain) throw new Error("no chain");
    const asked = { ...intent, ...of };
    const kind: SigningKind = changes.data === "0x" ? "cancellation" : callKind(asked.kind);
    return () => checkProposal(chain, asked, self, { kind, transaction: { ...deploy, ...changes } });
  };
  const deployData = `${keccak256(Buffer.from("deploy(bytes32,address,bytes)")).slice(0, 10)}00` as Hex;
  const update = "updateConfig((string,bool,uint256,bool,uint256,bool,uint256,uint256,string,bytes32,uint256,address))";
  const updateData = `${keccak256(Buffer.from(update)).slice(0, 10)}00` as Hex;

  test("deployments by the intent's factory, updates of its collection, and nothing to oneself", () => {
    expect(check({ data: deployData })).not.toThrow();
    expect(check({ data: "0x", to: self })).not.toThrow();
    expect(check({ data: "0x" })).toThrow("oneself");
    expect(check({ data: deployData, to: collection })).toThrow("not the intent's factory");
    expect(check({ data: "0x8456cb59" })).toThrow("of the factory");
    expect(check({ data: updateData, to: collection }, { kind: "update" })).not.toThrow();
    expect(check({ data: updateData }, { kind: "update" })).toThrow("not the intent's collection");
    expect(check({ data: deployData, to: collection }, { kind: "update" })).toThrow("of a collection");
    expect(check({ data: deployData, value: 1n })).toThrow("moves money");
    expect(check({ data: deployData, chainId: 1 })).toThrow("another chain");
    expect(check({ data: deployData, maxFeePerGas: 51n * 10n ** 9n })).toThrow("over the cap");
    expect(check({ data: deployData, gas: 10n ** 8n })).toThrow("too much gas");
  });
});

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** A key service's signatures are not deterministic: here by extra entropy in k. */
function randomSigner(key: Hex, highS = false): Signer {
  const { address } = privateKeyToAccount(key);
  return {
    address,
    sign: async ({ transaction }) => {
      const hash = keccak256(encodeTransaction(transaction));
      setSignEntropy(bytesToHex(randomBytes(32)));
      const { r, s, yParity } = await sign({ hash, privateKey: key });
      if (!highS) return serializeSignature({ r, s, yParity: yParity ?? 0 });
      const flipped = `0x${(order - BigInt(s)).toString(16).padStart(64, "0")}` as const;
      return serializeSignature({ r, s: flipped, yParity: yParity === 0 ? 1 : 0 });
    },
  };
}

function sealKey(key: Hex, password: string): string {
  const [salt, iv] = [randomBytes(32), randomBytes(16)];
  const derived = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 });
  const cipher = createCipheriv("aes-128-ctr", derived.subarray(0, 16), iv);
  const ciphertext = Buffer.concat([cipher.update(Buffer.from(key.slice(2), "hex")), cipher.final()]);
  const mac = keccak256(Buffer.concat([derived.subarray(16), ciphertext])).slice(2);
  return JSON.stringify({
    version: 3,
    crypto: {
      cipher: "aes-128-ctr",
      cipherparams: { iv: iv.toString("hex") },
      ciphertext: ciphertext.toString("hex"),
      kdf: "scrypt",
      kdfparams: { dklen: 32, n: 1024, r: 8, p: 1, salt: salt.toString("hex") },
      mac,
    },
  });
}
