import { pageMemory, pooledBytes } from "../buffer-pool.ts";
import { JsonText } from "../json/json-text.ts";

/** Bytes that a writer copies from. */
export interface Source {
  readonly bytes: Buffer;
  readonly words: DataView;
  /** Capacity of `bytes`, in bytes. */
  readonly size: number;
}

export function sourceOf(bytes: Buffer): Source {
  return { bytes, words: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), size: bytes.length };
}

/** A short constant text that is written often; latin1, one character per byte. */
export class Fixed implements Source {
  readonly bytes: Buffer;
  readonly words: DataView;
  readonly size: number;
  /** Length of the text. */
  readonly length: number;

  constructor(text: string) {
    // Padded to whole words plus one, because copies read whole words.
    this.bytes = Buffer.alloc(text.length + 8 - (text.length % 4));
    this.bytes.write(text, "latin1");
    this.words = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    this.size = this.bytes.length;
    this.length = text.length;
  }
}

/** Assembles bytes in reused memory: of a whole page only the result has to be garbage collected. */
export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(usualSize);
  #words: DataView = new DataView(this.#bytes.buffer);
  #at = 0;

  /** Bytes written so far. */
  get length(): number {
    return this.#at;
  }

  put(text: Fixed): void {
    this.copy(text, 0, text.length);
  }

  copy(from: Source, start: number, end: number): void {
    const length = end - start;
    if (this.#at + length + wordBytes > this.#bytes.length) this.#reserve(length + wordBytes);
    const at = this.#at;
    this.#at += length;
    // A call to `copy` costs as much as copying a hundred bytes by words. The last word may write past the end; the
    // next write replaces those bytes.
    if (length > fewBytes || end + wordBytes > from.size) {
      from.bytes.copy(this.#bytes, at, start, end);
      return;
    }
    const [into, words] = [this.#words, from.words];
    for (let done = 0; done < length; done += wordBytes)
      into.setInt32(at + done, words.getInt32(start + done, true), true);
  }

  /** Appends a range of what was written once more. */
  again(start: number, end: number): void {
    this.#reserve(end - start);
    this.#bytes.copyWithin(this.#at, start, end);
    this.#at += end - start;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** Appends a number below 100 as two digits. */
  twoDigits(value: number): void {
    this.#reserve(2);
    this.#words.setUint16(this.#at, digits[value] as number);
    this.#at += 2;
  }

  /** @param text latin1, one character per byte. */
  latin1(text: string): void {
    this.#reserve(text.length);
    this.#at += this.#bytes.write(text, this.#at, "latin1");
  }

  /** Returns everything written, a long result in pooled memory, and empties the writer. */
  take(): JsonText {
    const length = this.#at;
    const pooled = length >= pooledBytes;
    const taken = pooled ? pageMemory.take(length) : Buffer.allocUnsafe(length);
    this.#bytes.copy(taken, 0, 0, length);
    this.#at = 0;
    if (this.#bytes.length > mostKept) this.#use(Buffer.allocUnsafeSlow(usualSize));
    return new JsonText([taken], pooled ? () => pageMemory.give(taken) : undefined);
  }

  /** Discards what a failed page left behind. */
  reset(): void {
    this.#at = 0;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + more));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#use(larger);
  }

  #use(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#words = new DataView(bytes.buffer);
  }
}

const usualSize = 256 * 1024;
/** The two digits of each number below 100 as one 16-bit word. */
const digits = Array.from(
  { length: 100 },
  (_, value) => ((0x30 + Math.floor(value / 10)) << 8) | (0x30 + (value % 10)),
);
const wordBytes = 4;
const fewBytes = 100;
/** A page may have several megabytes; most have a few dozen kilobytes. */
const mostKept = 2 * 1024 * 1024;

/** Digits of Unix seconds until the year 5138. */
const mostDigits = 11;
const [zero, colon] = [0x30, 0x3a];
/** `2026-01-01T` by day number since 1970. Some 4,000 days have passed since the first block. */
const dates = new Map<number, string>();
const mostDates = 5_000;

/**
 * Writes a Unix time as `2026-01-01T00:00:00`, straight from its digits: each token of a page has one, and creating a
 * Date for each costs a tenth of the page.
 *
 * @param end of the digits, which start at `start`.
 * @returns false: nothing was written, because these are no digits or the year does not have four.
 */
export function writeIsoSeconds(out: ByteWriter, digits: Buffer, start: number, end: number): boolean {
  if (end - start > mostDigits) return false;
  let time = 0;
  for (let at = start; at < end; at += 1) {
    const digit = (digits[at] as number) - zero;
    if (digit < 0 || digit > 9) return false;
    time = time * 10 + digit;
  }
  const day = Math.floor(time / 86_400);
  const inDay = time - day * 86_400;
  out.latin1(dateOf(day));
  out.twoDigits(Math.floor(inDay / 3_600));
  out.byte(colon);
  out.twoDigits(Math.floor(inDay / 60) % 60);
  out.byte(colon);
  out.twoDigits(inDay % 60);
  return true;
}

function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  if (dates.size >= mostDates) dates.clear();
  const date = new Date(day * 86_400_000).toISOString().slice(0, 11);
  dates.set(day, date);
  return date;
}
