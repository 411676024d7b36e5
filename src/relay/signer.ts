import { readFileSync } from "node:fs";
import {
  type Address,
  type Hash,
  type Hex,
  hexToBigInt,
  keccak256,
  parseSignature,
  recoverAddress,
  serializeTransaction,
  type TransactionSerializableEIP1559,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { Chain } from "../chains.ts";
import { decryptKeystore } from "./keystore.ts";

/** A wallet that signs digests: a key in memory, or a key service that never shows its key. */
export interface Signer {
  readonly address: Address;
  /** @returns r, s and v of 65 bytes. Two signatures of one digest may differ. */
  sign(digest: Hash): Promise<Hex>;
  /** The key lies in this process, so its signatures are its own. What came from elsewhere is looked at. */
  inProcess?: true;
}

export function keySigner(key: Hex): Signer {
  const account = privateKeyToAccount(key);
  const address = account.address.toLowerCase() as Address;
  return { address, sign: (hash) => account.sign({ hash }), inProcess: true };
}

/** The wallets of a chain, the first one being the admin of its collections: keys, then key files. */
export function openSigners(chain: Chain): Signer[] {
  const keys = chain.relayerKey ? [chain.relayerKey, ...chain.relay.moreKeys] : [];
  const files = chain.relay.keystores.map(({ path, passwordFile }) => {
    const password = readFileSync(passwordFile, "utf8").replace(/\r?\n$/, "");
    return decryptKeystore(readFileSync(path, "utf8"), password);
  });
  return [...keys, ...files].map(keySigner);
}

const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Signs a transaction and makes sure that the chain will take it for this wallet's.
 *
 * @throws Error for a signature of another key, or with a high s (EIP-2): such bytes must not be stored.
 */
export async function signChecked(
  signer: Signer,
  transaction: TransactionSerializableEIP1559,
): Promise<{ raw: Hex; hash: Hash }> {
  const digest = keccak256(serializeTransaction(transaction));
  const signature = await signer.sign(digest);
  const { r, s, yParity } = parseSignature(signature);
  if (hexToBigInt(s) > halfOrder) throw new Error(`the signer of ${signer.address} gave a signature with a high s`);
  if (!signer.inProcess) {
    const recovered = await recoverAddress({ hash: digest, signature });
    if (recovered.toLowerCase() !== signer.address.toLowerCase())
      throw new Error(`the signer of ${signer.address} signed as ${recovered}`);
  }
  const raw = serializeTransaction(transaction, { r, s, yParity });
  return { raw, hash: keccak256(raw) };
}
