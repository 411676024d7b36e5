import { writeSync } from "node:fs";

/**
 * Writes all of `bytes`: one write may take less, on a full disk for example, without failing.
 *
 * @param write as `fs.writeSync`.
 * @throws whatever the write throws; Error when it takes nothing at all.
 */
export function writeWhole(
  file: number,
  bytes: Uint8Array,
  write: (file: number, bytes: Uint8Array, offset: number, length: number) => number = writeSync,
): void {
  for (let at = 0; at < bytes.length; ) {
    const written = write(file, bytes, at, bytes.length - at);
    if (written <= 0) throw new Error(`the file takes no more: ${at} of ${bytes.length} bytes were written`);
    at += written;
  }
}
