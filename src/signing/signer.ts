import type { Address, Hash, Hex } from "viem";
import { keccak256, recoverAddress, serializeTransaction } from "viem/utils";

/** What a signature is for; what each may hold is in rules.ts. */
export type SigningKind = "deploy" | "update" | "operate" | "cancellation" | "grant";

/** A transaction without access list, of EIP-1559 unless it says otherwise. Amounts in wei. */
export interface Unsigned {
  chainId: number;
  nonce: number;
  to: Address;
  data: Hex;
  value: bigint;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Of before EIP-1559, for a chain that takes no other (EIP-155); both fees are its price. */
  legacy?: boolean;
}

/** What a wallet is asked to sign. */
export interface SigningOrder {
  kind: SigningKind;
  transaction: Unsigned;
}

/** A signature from elsewhere, with what its giver says of it. */
export interface Signed {
  signature: Hex;
  /** Of the transaction that was signed, in the words of whoever signed it: it has to be the one that was asked for. */
  hash: string;
}

/** A wallet that signs: a key in this process, in the signer's process, or at a Web3Signer. */
export interface Signer {
  /** Lower case. */
  readonly address: Address;
  /**
   * @returns r, s and v of 65 bytes. Two signatures of one order may differ.
   * @throws SignerError when it does not sign.
   */
  sign(order: SigningOrder): Promise<Hex | Signed>;
  /** The key lies in this process, so its signatures are its own. What came from elsewhere is looked at. */
  inProcess?: true;
  /** Its signatures were looked at since it was last in trouble. Doing that takes four times as long as signing. */
  readonly proven?: boolean;
  /** Called when what came was checked and is this wallet's signature. */
  trust?(): void;
  /** Called when what came was no signature of this wallet. */
  distrust?(why: string): Error;
}

const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** The bytes that are hashed and signed; with a signature, those that are sent. */
export function encodeTransaction(transaction: Unsigned, signature?: { r: Hex; s: Hex; yParity: number }): Hex {
  const { chainId, nonce, to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const fields = { chainId, nonce, to, data, value, gas };
  if (!transaction.legacy)
    return serializeTransaction({ type: "eip1559", ...fields, maxFeePerGas, maxPriorityFeePerGas }, signature);
  const signed = signature && { r: signature.r, s: signature.s, v: 27n + BigInt(signature.yParity) };
  return serializeTransaction({ type: "legacy", ...fields, gasPrice: maxFeePerGas }, signed);
}

/**
 * Signs a transaction and makes sure that the chain will take it for this wallet's.
 *
 * @throws Error for a signature of another key, or with a high s (EIP-2): such bytes must not be stored.
 */
export async function signChecked(
  signer: Signer,
  order: SigningOrder,
): Promise<{ raw: Hex; hash: Hash; signature: Hex }> {
  const given = await signer.sign(order);
  const { signature, hash: named } = typeof given === "string" ? { signature: given, hash: null } : given;
  const distrust = (why: string) => signer.distrust?.(why) ?? new Error(`the signer of ${signer.address} ${why}`);
  if (!/^0x[0-9a-f]{130}$/i.test(signature)) throw distrust("gave no signature of 65 bytes");
  const { r, s, yParity } = partsOf(signature);
  if (BigInt(s) > halfOrder) throw distrust("gave a signature with a high s");
  if (yParity !== 0 && yParity !== 1) throw distrust("gave a signature with an unknown v");
  // Encoding and hashing take as long as signing does, so nothing is encoded twice.
  const raw = encodeTransaction(order.transaction, { r, s, yParity });
  const hash = keccak256(raw);
  if (named !== null && named !== hash) throw distrust("signed another transaction than it was asked for");
  if (!signer.inProcess && !signer.proven) {
    const digest = keccak256(encodeTransaction(order.transaction));
    const recovered = await recoverAddress({ hash: digest, signature }).catch(() => "nobody");
    if (recovered.toLowerCase() !== signer.address.toLowerCase()) throw distrust(`signed as ${recovered}`);
  }
  if (!signer.proven) signer.trust?.();
  return { raw, hash, signature };
}

/** Of 65 bytes. v is 27 or 28, or the parity itself. */
function partsOf(signature: Hex): { r: Hex; s: Hex; yParity: number } {
  const v = Number.parseInt(signature.slice(130), 16);
  return { r: `0x${signature.slice(2, 66)}`, s: `0x${signature.slice(66, 130)}`, yParity: v >= 27 ? v - 27 : v };
}
