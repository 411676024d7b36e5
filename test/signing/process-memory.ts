import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Larger mappings are read in pieces of this size, in bytes. */
const pieceBytes = 4 * 1_048_576;

/**
 * Which of the byte strings a process has in what it can write to: its heaps and stacks. Files that are only mapped are
 * left out. Linux, for processes of the same user or by root.
 *
 * @returns for each needle whether it was there.
 * @throws Error where the system does not let this process read.
 */
export function areInMemory(pid: number, needles: readonly Buffer[]): boolean[] {
  const found = needles.map(() => false);
  const overlap = Math.max(...needles.map(({ length }) => length)) - 1;
  const buffer = Buffer.allocUnsafe(pieceBytes + overlap);
  const memory = openSync(`/proc/${pid}/mem`, "r");
  try {
    for (const { from, to } of filledMappings(pid))
      for (let at = from; at < to; at += BigInt(pieceBytes)) {
        const size = Math.min(buffer.length, Number(to - at));
        const piece = buffer.subarray(0, readPiece(memory, at, buffer, size));
        for (const [index, needle] of needles.entries()) found[index] ||= piece.includes(needle);
      }
    return found;
  } finally {
    closeSync(memory);
  }
}

/** What a process can write to and has written to: most of what it only reserved would be read as zeros. */
function filledMappings(pid: number): { from: bigint; to: bigint }[] {
  // A mapping is a line of its own, with lines such as `Rss: 120 kB` below it.
  return readFileSync(`/proc/${pid}/smaps`, "utf8")
    .split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/)
    .flatMap((mapping) => {
      const [, from = "", to = ""] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(mapping) ?? [];
      const isFilled = /^(Rss|Swap): +[1-9]/m.test(mapping);
      const isKernels = mapping.slice(0, mapping.indexOf("\n")).includes("[v");
      return from && isFilled && !isKernels ? [{ from: BigInt(`0x${from}`), to: BigInt(`0x${to}`) }] : [];
    });
}

/** How many bytes can be read of a piece; a mapping may be gone, or not backed, by now. */
function readPiece(memory: number, at: bigint, buffer: Buffer, size: number): number {
  try {
    return readSync(memory, buffer, 0, size, at);
  } catch {
    return 0;
  }
}
