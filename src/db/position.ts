import { bytesToUint, uintToBytes } from "./bytes.ts";

/** Widths in bytes of a keyset position's parts, most significant first. */
export type PositionShape = readonly number[];

/** Block, log index, index inside the log. */
export const ledgerPosition = [8, 4, 4] as const satisfies PositionShape;

export function positionLength(shape: PositionShape): number {
  return shape.reduce((sum, width) => sum + width, 0);
}

export function packPosition(shape: PositionShape, values: readonly (bigint | number | string)[]): Buffer {
  return Buffer.concat(shape.map((width, index) => uintToBytes(BigInt(values[index] ?? 0), width)));
}

export function unpackPosition(shape: PositionShape, bytes: Buffer): bigint[] {
  let start = 0;
  return shape.map((width) => {
    start += width;
    return bytesToUint(bytes.subarray(start - width, start));
  });
}
