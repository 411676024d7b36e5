import type { Standard } from "../db/tables/nft.ts";
import { type Source, sourceOf } from "./byte-writer.ts";
import { contractFields, storedNames } from "./fields.ts";
import type { Item, RecordParts } from "./item.ts";
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
  readonly #starts: number[];
  readonly count: number;
  readonly #partCount: number;
  /** Where each part of the open item begins; behind the last one, where a further one would. */
  readonly #parts: number[];
  #open = -1;

  /** @param bytes of one value. @param parts of each item. @param most items. */
  constructor(bytes: Buffer, parts: number, most: number) {
    this.bytes = bytes;
    this.source = sourceOf(this.bytes);
    this.#starts = Array<number>(most + 1).fill(0);
    let count = 1;
    for (let at = bytes.indexOf(itemByte); at >= 0; at = bytes.indexOf(itemByte, at + 1))
      this.#starts[count++] = at + 1;
    if (count > most) throw new Error("a statement gave more items than it was asked for");
    this.#starts[count] = bytes.length + 1;
    this.count = count;
    this.#partCount = parts;
    this.#parts = Array<number>(parts + 1).fill(0);
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
    const { words } = this.source;
    const count = this.#partCount;
    // Nothing is looked up in the last part, which is the document and so half of what there is.
    for (; found < count && at + 4 <= end; at += 4) {
      if (!hasPartMark(words.getInt32(at))) continue;
      for (let of4 = at; of4 < at + 4 && found < count; of4 += 1)
        if (bytes[of4] === partByte) starts[found++] = of4 + 1;
    }
    for (; found < count && at < end; at += 1) if (bytes[at] === partByte) starts[found++] = at + 1;
    starts[found] = end + 1;
    // In another layout the first item shows it.
    const further = item === 0 ? bytes.indexOf(partByte, starts[count - 1]) : -1;
    if (found !== count || (further >= 0 && further < end)) throw new Error("a statement gave items of another layout");
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

  /** The parts of an item in characters. */
  item(item: number): Item {
    this.open(item);
    return Array.from({ length: this.#partCount }, (_, part) =>
      this.bytes.toString("utf8", this.startOf(part), this.endOf(part)),
    );
  }

  /** Whether the first bytes of an item are so many of another value. */
  startsWith(item: number, other: Buffer, start: number, length: number): boolean {
    return areEqual(this.bytes, this.#starts[item] ?? 0, other, start, length);
  }
}

/** Whether one of the four bytes of a word is the mark: it is zero then, and only below a zero does a byte borrow. */
function hasPartMark(word: number): boolean {
  const other = word ^ (partByte * 0x01010101);
  return ((other - 0x01010101) & ~other & 0x80808080) !== 0;
}

/** Whether so many bytes from two places on are the same. */
export function areEqual(one: Buffer, oneAt: number, other: Buffer, otherAt: number, length: number): boolean {
  for (let index = 0; index < length; index += 1) if (one[oneAt + index] !== other[otherAt + index]) return false;
  return true;
}

/** Parts of a record: the address, and what is stored. */
const recordParts = 1 + storedNames(contractFields).length;
/** Hex digits of an address. */
export const addressLength = 40;

/** The contracts of a page's items as the bytes that a statement gave, looked up by address (see `contractsSql`). */
export class ContractBytes {
  /** Those of ERC-1155; the others are of ERC-721. */
  readonly #multi: ItemBytes | null;
  /** Of those whose metadata is known. */
  readonly #records: ItemBytes | null;
  /** Of all of them. */
  readonly #standard: Standard | null;
  #last = { multi: 0, record: 0 };

  /** @param most contracts. @param standard of all of them, where it is known. */
  constructor(multi: Buffer | null, records: Buffer | null, most: number, standard: Standard | null = null) {
    this.#multi = multi && new ItemBytes(multi, 1, most);
    this.#records = records && new ItemBytes(records, recordParts, most);
    this.#standard = standard;
  }

  /** One contract. @param record its rendered text, null where no metadata is known. */
  static one(standard: Standard, record: Buffer | null): ContractBytes {
    return new ContractBytes(null, record, 1, standard);
  }

  /** @param bytes that have its address, in hex digits from `start`. */
  standard(bytes: Buffer, start: number): Standard {
    if (this.#standard) return this.#standard;
    const place = this.#multi ? placeOf(this.#multi, this.#last.multi, bytes, start) : -1;
    if (place < 0) return "ERC721";
    this.#last.multi = place;
    return "ERC1155";
  }

  /** Its record, opened; null: nothing is known of its metadata. */
  record(bytes: Buffer, start: number): ItemBytes | null {
    const records = this.#records;
    const place = records ? placeOf(records, this.#last.record, bytes, start) : -1;
    if (!records || place < 0) return null;
    records.open(place);
    this.#last.record = place;
    return records;
  }

  /** All that is known of one, in characters. @param address hex digits, without 0x. */
  parts(address: string): RecordParts {
    const bytes = Buffer.from(address);
    const stored = this.record(bytes, 0)?.item(this.#last.record).slice(1) ?? [];
    return { address, standard: this.standard(bytes, 0), stored };
  }
}

/** Looks on from the last place: tokens of one contract mostly stand beside each other, in the contracts' order. */
function placeOf(among: ItemBytes, last: number, bytes: Buffer, start: number): number {
  const { count } = among;
  for (let step = 0, at = last; step < count; step += 1, at += 1) {
    if (at === count) at = 0;
    if (among.startsWith(at, bytes, start, addressLength)) return at;
  }
  return -1;
}
