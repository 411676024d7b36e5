import { type Source, sourceOf } from "./byte-writer.ts";
import type { Item } from "./item.ts";
import { itemMark, partMark } from "./rendered.ts";

const partByte = partMark.charCodeAt(0);
const itemByte = itemMark.charCodeAt(0);

/**
 * The items of one value as the bytes that a statement gave; nothing of them is made a text before it is needed. The parts
 * of one item are known at a time: those of the item that was opened last.
 */
export class ItemBytes {
  readonly bytes: Buffer;
  /** The same for a writer. */
  readonly source: Source;
  /** Where each item begins; behind the last one, where a further one would. */
  readonly #starts: number[] = [0];
  readonly #partCount: number;
  /** Where each part of the open item begins; behind the last one, where a further one would. */
  readonly #parts: number[];
  #open = -1;

  /** @param bytes of one value. @param parts of each item. @param most items. */
  constructor(bytes: Buffer, parts: number, most: number) {
    this.bytes = bytes;
    this.source = sourceOf(this.bytes);
    for (let at = this.bytes.indexOf(itemByte); at >= 0; at = this.bytes.indexOf(itemByte, at + 1))
      this.#starts.push(at + 1);
    this.#starts.push(this.bytes.length + 1);
    if (this.count > most) throw new Error("a statement gave more items than it was asked for");
    this.#partCount = parts;
    this.#parts = Array<number>(parts + 1).fill(0);
  }

  get count(): number {
    return this.#starts.length - 1;
  }

  /** Looks up where the parts of an item are. */
  open(item: number): void {
    if (this.#open === item) return;
    this.#open = -1;
    const [bytes, starts] = [this.bytes, this.#parts];
    const end = (this.#starts[item + 1] ?? 0) - 1;
    let at = this.#starts[item] ?? 0;
    let found = 0;
    starts[found++] = at;
    for (; at < end; at += 1) if (bytes[at] === partByte) starts[found++] = at + 1;
    starts[found] = end + 1;
    if (found !== this.#partCount) throw new Error("a statement gave items of another layout");
    this.#open = item;
  }

  /** Of the open item. */
  startOf(part: number): number {
    return this.#parts[part] as number;
  }

  /** Of the open item. */
  endOf(part: number): number {
    return (this.#parts[part + 1] as number) - 1;
  }

  /** A part of the open item, with one character for each byte. */
  text(part: number): string {
    return this.bytes.toString("latin1", this.startOf(part), this.endOf(part));
  }

  /** All parts of an item, in the same way. */
  item(item: number): Item {
    this.open(item);
    return Array.from({ length: this.#partCount }, (_, part) => this.text(part));
  }

  /** Whether the first bytes of an item are these bytes of another value. */
  startsWith(item: number, other: Buffer, start: number, end: number): boolean {
    const own = this.bytes;
    let at = this.#starts[item] ?? 0;
    for (let index = start; index < end; index += 1, at += 1) if (own[at] !== other[index]) return false;
    return true;
  }
}
