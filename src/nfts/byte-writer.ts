import { pageMemory, pooledBytes } from "../buffer-pool.ts";
import { JsonText } from "../json/json-text.ts";

/** Bytes that a writer copies from. */
export interface Source {
  readonly bytes: Buffer;
  readonly words: DataView;
  /** Of all its bytes. */
  readonly size: number;
}

export function sourceOf(bytes: Buffer): Source {
  return { bytes, words: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), size: bytes.length };
}

/** A short text that is written again and again, with one character for each byte. */
export class Fixed implements Source {
  readonly bytes: Buffer;
  readonly words: DataView;
  readonly size: number;
  /** Of the text. */
  readonly length: number;

  constructor(text: string) {
    // Whole words, and one more.
    this.bytes = Buffer.alloc(text.length + 8 - (text.length % 4));
    this.bytes.write(text, "latin1");
    this.words = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength);
    this.size = this.bytes.length;
    this.length = text.length;
  }
}

/** Puts bytes together in memory that is used again and again: a page makes nothing that has to be collected but its result. */
export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(usualSize);
  #words: DataView = new DataView(this.#bytes.buffer);
  #at = 0;

  /** How much there is. */
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
    // A call costs as much as a hundred bytes do in words. The last word may have bytes behind the end, which the next
    // ones replace.
    if (length > fewBytes || end + wordBytes > from.size) {
      from.bytes.copy(this.#bytes, at, start, end);
      return;
    }
    const [into, words] = [this.#words, from.words];
    for (let done = 0; done < length; done += wordBytes)
      into.setInt32(at + done, words.getInt32(start + done, true), true);
  }

  /** Puts what is there from one place to another behind it once more. */
  again(start: number, end: number): void {
    this.#reserve(end - start);
    this.#bytes.copyWithin(this.#at, start, end);
    this.#at += end - start;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  /** A number below 100 in two digits. */
  twoDigits(value: number): void {
    this.#reserve(2);
    this.#words.setUint16(this.#at, digits[value] as number);
    this.#at += 2;
  }

  /** @param text with one character for each byte. */
  latin1(text: string): void {
    this.#reserve(text.length);
    this.#at += this.#bytes.write(text, this.#at, "latin1");
  }

  /** All of it, in memory of the pool where it is long; the writer is empty then. */
  take(): JsonText {
    const length = this.#at;
    const pooled = length >= pooledBytes;
    const taken = pooled ? pageMemory.take(length) : Buffer.allocUnsafe(length);
    this.#bytes.copy(taken, 0, 0, length);
    this.#at = 0;
    if (this.#bytes.length > mostKept) this.#use(Buffer.allocUnsafeSlow(usualSize));
    return new JsonText([taken], pooled ? () => pageMemory.give(taken) : undefined);
  }

  /** Forgets what a failed page left. */
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
/** Both digits of each number below 100 as one word. */
const digits = Array.from(
  { length: 100 },
  (_, value) => ((0x30 + Math.floor(value / 10)) << 8) | (0x30 + (value % 10)),
);
const wordBytes = 4;
const fewBytes = 100;
/** A page may have some megabytes; most have some dozen kilobytes. */
const mostKept = 2 * 1024 * 1024;

/** Of seconds until the year 5138. */
const mostDigits = 11;
const [zero, colon] = [0x30, 0x3a];
/** `2026-01-01T` by the number of the day since 1970. There were some 4,000 days since the first block. */
const dates = new Map<number, string>();
const mostDates = 5_000;

/**
 * Writes a Unix time as `2026-01-01T00:00:00`, from the digits of its seconds: the tokens of a page have one each, and a Date
 * for each costs a tenth of the page.
 *
 * @param end of the digits, which begin at `start`.
 * @returns false: nothing was written, because these are no digits or a year has not four.
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
