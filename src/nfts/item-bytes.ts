import type { Item } from "./item.ts";
import { itemMark, partMark } from "./rendered.ts";

const partByte = partMark.charCodeAt(0);
const itemByte = itemMark.charCodeAt(0);

/** The items of a page as the bytes that a statement gave; nothing of them is made a text before it is needed. */
export class ItemBytes {
  readonly bytes: Buffer;
  readonly count: number;
  readonly #parts: number;
  /** Where each part ends: at the mark behind it. */
  readonly #ends: Int32Array;

  /** @param pieces of one value. @param parts of each item. @param most items. */
  constructor(pieces: readonly Buffer[], parts: number, most: number) {
    const [first] = pieces;
    const bytes = pieces.length === 1 && first ? first : Buffer.concat(pieces);
    const ends = new Int32Array(parts * most);
    let found = 0;
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === partByte || byte === itemByte) ends[found++] = at;
    }
    ends[found++] = bytes.length;
    if (found % parts !== 0 || found > ends.length) throw new Error("a statement gave items of another layout");
    this.bytes = bytes;
    this.count = found / parts;
    this.#parts = parts;
    this.#ends = ends;
  }

  startOf(item: number, part: number): number {
    const place = item * this.#parts + part;
    return place === 0 ? 0 : (this.#ends[place - 1] ?? 0) + 1;
  }

  endOf(item: number, part: number): number {
    return this.#ends[item * this.#parts + part] ?? 0;
  }

  /** A part with one character for each byte. */
  text(item: number, part: number): string {
    return this.bytes.toString("latin1", this.startOf(item, part), this.endOf(item, part));
  }

  /** All parts of an item, in the same way. */
  item(item: number): Item {
    return Array.from({ length: this.#parts }, (_, part) => this.text(item, part));
  }
}

/** Puts bytes together in memory that is used again and again: a page makes nothing that has to be collected but its result. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(256 * 1024);
  #at = 0;

  put(bytes: Buffer): void {
    this.copy(bytes, 0, bytes.length);
  }

  copy(from: Buffer, start: number, end: number): void {
    this.#reserve(end - start);
    const into = this.#bytes;
    let at = this.#at;
    // A call makes a view of what it copies, which costs more than a few bytes do one by one.
    if (end - start > fewBytes) at += from.copy(into, at, start, end);
    else for (let index = start; index < end; index += 1) into[at++] = from[index] as number;
    this.#at = at;
  }

  /** @param text with one character for each byte. */
  latin1(text: string): void {
    this.#reserve(text.length);
    this.#at += this.#bytes.write(text, this.#at, "latin1");
  }

  /** All of it, as bytes of their own; the writer is empty then. */
  take(): Buffer {
    const taken = Buffer.allocUnsafeSlow(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.#at = 0;
    if (this.#bytes.length > mostKept) this.#bytes = Buffer.allocUnsafeSlow(256 * 1024);
    return taken;
  }

  /** Forgets what a failed page left. */
  reset(): void {
    this.#at = 0;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#at + more));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

const fewBytes = 96;
/** A page may have some megabytes; most have some dozen kilobytes. */
const mostKept = 2 * 1024 * 1024;
