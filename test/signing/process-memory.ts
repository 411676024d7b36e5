import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Larger mappings are read in pieces of this size, in bytes. */
const pieceBytes = 16 * 1_048_576;

/**
 * How often any of the byte strings occurs in what a process can write to: its heaps and stacks. Files that are only
 * mapped are left out. Linux, for processes of the same user or by root.
 *
 * @throws Error where the system does not let this process read.
 */
export function occurrencesInMemory(pid: number, needles: readonly Buffer[]): number {
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1;
  const memory = openSync(`/proc/${pid}/mem`, "r");
  try {
    let found = 0;
    for (const line of readFileSync(`/proc/${pid}/maps`, "utf8").split("\n")) {
      const [, from = "", to = ""] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (!from || line.includes("[v")) continue;
      const end = BigInt(`0x${to}`);
      for (let at = BigInt(`0x${from}`); at < end; at += BigInt(pieceBytes)) {
        const size = Math.min(pieceBytes + overlap, Number(end - at));
        found += count(readPiece(memory, at, size), needles);
      }
    }
    return found;
  } finally {
    closeSync(memory);
  }
}

/** What can be read of a piece; a mapping may be gone, or not backed, by now. */
function readPiece(memory: number, at: bigint, size: number): Buffer {
  const buffer = Buffer.allocUnsafe(size);
  try {
    return buffer.subarray(0, readSync(memory, buffer, 0, size, at));
  } catch {
    return buffer.subarray(0, 0);
  }
}

function count(piece: Buffer, needles: readonly Buffer[]): number {
  let found = 0;
  for (const needle of needles)
    for (let at = piece.indexOf(needle); at >= 0; at = piece.indexOf(needle, at + 1)) found += 1;
  return found;
}
