/** An address or hash as its column holds it. */
export function toBytes(hex: string): Buffer {
  return Buffer.from(hex.slice(2), "hex");
}

/** Bytes of a column as lower-case `0x…`. */
export function toHex(bytes: Buffer): string {
  return `0x${bytes.toString("hex")}`;
}

/** A whole number as big-endian bytes of a fixed width: keyset positions of token ids, blocks, … */
export function uintToBytes(value: bigint, width: number): Buffer {
  return Buffer.from(value.toString(16).padStart(width * 2, "0"), "hex");
}

export function bytesToUint(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString("hex") || "0"}`);
}
