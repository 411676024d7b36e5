import type { Address, Hash, Hex } from "viem";

/**
 * The bytes of an address, hash or call data, as a column stores them.
 *
 * @param hex `0x` and an even number of digits.
 * @throws Error for anything else: a truncated value would be another address.
 */
export function toBytes(hex: string): Buffer {
  const bytes = Buffer.from(hex.slice(2), "hex");
  if (bytes.length * 2 !== hex.length - 2) throw new Error("not hexadecimal bytes");
  return bytes;
}

/** A column's bytes as lower-case `0x…`. */
export function toHex(bytes: Buffer): Hex {
  return `0x${bytes.toString("hex")}`;
}

export function toAddress(bytes: Buffer): Address {
  return toHex(bytes);
}

export function toHash(bytes: Buffer): Hash {
  return toHex(bytes);
}

/** A whole number as big-endian bytes of a fixed width: keyset positions of token ids, blocks, … */
export function uintToBytes(value: bigint, width: number): Buffer {
  return Buffer.from(value.toString(16).padStart(width * 2, "0"), "hex");
}

export function bytesToUint(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex") || "0"}`);
}
