import { type Address, bytesToHex, type Hash, type Hex, hexToBytes } from "viem";

/** Hex as a bytea parameter. */
export function toBytes(hex: Hex): Buffer {
  return Buffer.from(hexToBytes(hex));
}

export function toHex(bytes: Buffer): Hex {
  return bytesToHex(bytes);
}

export function toAddress(bytes: Buffer): Address {
  return bytesToHex(bytes);
}

export function toHash(bytes: Buffer): Hash {
  return bytesToHex(bytes);
}
