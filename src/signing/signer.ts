import type { Address, Hash, Hex } from "viem";
import { fromRlp, keccak256, recoverAddress, serializeTransaction } from "viem/utils";

/** The purpose of a signature; rules.ts has the rules of each. */
export type SigningKind = "deploy" | "update" | "operate" | "cancellation" | "grant";

/** A transaction without access list, by default of EIP-1559. Amounts in wei. */
export interface Unsigned {
  chainId: number;
  nonce: number;
  to: Address;
  data: Hex;
  value: bigint;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** A legacy transaction (EIP-155), for a chain without EIP-1559; both fees are its gas price. */
  legacy?: boolean;
}

/** An order to sign a transaction. */
export interface SigningOrder {
  kind: SigningKind;
  transaction: Unsigned;
}

/** A wallet that signs: a key in this process, in the signer's process, or at a Web3Signer. */
export interface Signer {
  /** Lower case. */
  readonly address: Address;
  /**
   * @returns r, s and v in 65 bytes, or the transaction as signed elsewhere. Two signatures of one order may differ.
   * @throws SignerError when it does not sign.
   */
  sign(order: SigningOrder): Promise<Hex | { raw: string }>;
  /** The key is in this process, so its signatures need no check. Those from elsewhere are checked. */
  inProcess?: true;
  /** A signature was checked since its last fault. The check takes four times as long as signing. */
  readonly proven?: boolean;
  /** Called when an answer was checked and is this wallet's signature. */
  trust?(): void;
  /** Called when an answer was not a signature of this wallet. */
  distrust?(why: string): Error;
}

/** `yParity` is 0 or 1. */
interface Signature {
  r: Hex;
  s: Hex;
  yParity: number;
}

const halfOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** The bytes that are hashed and signed; with a signature, those that are sent. */
export function encodeTransaction(transaction: Unsigned, signature?: Signature): Hex {
  const { chainId, nonce, to, data, value, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction;
  const fields = { chainId, nonce, to, data, value, gas };
  if (!transaction.legacy)
    return serializeTransaction({ type: "eip1559", ...fields, maxFeePerGas, maxPriorityFeePerGas }, signature);
  const signed = signature && { r: signature.r, s: signature.s, v: 27n + BigInt(signature.yParity) };
  return serializeTransaction({ type: "legacy", ...fields, gasPrice: maxFeePerGas }, signed);
}

/**
 * Signs a transaction and makes sure that the chain will accept it as this wallet's.
 *
 * @throws Error for another key's or transaction's signature, or a high s (EIP-2): such bytes must not be stored.
 */
export async function signChecked(signer: Signer, order: SigningOrder): Promise<{ raw: Hex; hash: Hash }> {
  const given = await signer.sign(order);
  const distrust = (why: string) => signer.distrust?.(why) ?? new Error(`the signer of ${signer.address} ${why}`);
  const isSignature = typeof given === "string";
  const signature = isSignature ? partsOf(given) : signatureIn(given.raw);
  if (!signature) throw distrust(isSignature ? "gave no signature of 65 bytes" : "gave no signed transaction");
  if (BigInt(signature.s) > halfOrder) throw distrust("gave a signature with a high s");
  if (signature.yParity !== 0 && signature.yParity !== 1) throw distrust("gave a signature with an unknown v");
  // Encoding and hashing take as long as signing, so nothing is encoded twice.
  const raw = encodeTransaction(order.transaction, signature);
  // Detects any other field, order or addition.
  if (!isSignature && given.raw.toLowerCase() !== raw.toLowerCase())
    throw distrust("signed another transaction than it was asked for");
  if (!signer.inProcess && !signer.proven) {
    const digest = keccak256(encodeTransaction(order.transaction));
    const recovered = await recoverAddress({ hash: digest, signature }).catch(() => "nobody");
    if (recovered.toLowerCase() !== signer.address.toLowerCase()) throw distrust(`signed as ${recovered}`);
  }
  if (!signer.proven) signer.trust?.();
  return { raw, hash: keccak256(raw) };
}

/** Splits 65 bytes. v is 27 or 28, or the parity itself. */
function partsOf(signature: Hex): Signature | null {
  if (!/^0x[0-9a-f]{130}$/i.test(signature)) return null;
  const v = Number.parseInt(signature.slice(130), 16);
  return { r: `0x${signature.slice(2, 66)}`, s: `0x${signature.slice(66, 130)}`, yParity: v >= 27 ? v - 27 : v };
}

/** The last three fields of a signed transaction, EIP-1559 or legacy (EIP-155). Earlier fields are not checked. */
function signatureIn(raw: string): Signature | null {
  const isTyped = raw.startsWith("0x02");
  try {
    const fields = fromRlp(isTyped ? `0x${raw.slice(4)}` : (raw as Hex), "hex");
    const [v, r, s] = fields.slice(-3);
    if (typeof v !== "string" || !isWord(r) || !isWord(s)) return null;
    return { r, s, yParity: isTyped ? Number(v === "0x" ? 0 : v) : (Number(v) + 1) % 2 };
  } catch {
    return null;
  }
}

/** False for an RLP list, whatever it contains. */
function isWord(part: unknown): part is Hex {
  return typeof part === "string" && /^0x([0-9a-f]{2}){1,32}$/i.test(part);
}
