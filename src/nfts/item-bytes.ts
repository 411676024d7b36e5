import type { Standard } from "../db/tables/nft.ts";
import { type Source, sourceOf } from "./byte-writer.ts";
import { contractFields, storedNames } from "./fields.ts";
import type { Item, RecordParts } from "./item.ts";
import { itemMark, partMark } from "./rendered.ts";

const partByte = partMark.charCodeAt(0);
const itemByte = itemMark.charCodeAt(0);

/**
 * The items of one value as the bytes that a statement returned. They become text only on demand. One item is open at a
 * time: only the parts of the item opened last can be read.
 */
export class ItemBytes {
  readonly bytes: Buffer;
  /** `bytes` as a writer's source. */
  readonly source: Source;
  /** The start of each item, and where a further one would start. */
  readonly #starts: number[];
  readonly count: number;
  readonly #partCount: number;
  /** The start of each part of the open item, and where a further one would start. */
  readonly #parts: number[];
  #open = -1;

  /** @param bytes of one value. @param parts per item. @param most items at most. */
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

  /** Finds the parts of an item. */
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
    // The last part is not scanned: it is the document, about half of the bytes.
    for (; found < count && at + 4 <= end; at += 4) {
      if (!hasPartMark(words.getInt32(at))) continue;
      for (let of4 = at; of4 < at + 4 && found < count; of4 += 1)
        if (bytes[of4] === partByte) starts[found++] = of4 + 1;
    }
    for (; found < count && at < end; at += 1) if (bytes[at] === partByte) starts[found++] = at + 1;
    starts[found] = end + 1;
    // A wrong layout would already show in the first item.
    const further = item === 0 ? bytes.indexOf(partByte, starts[count - 1]) : -1;
    if (found !== count || (further >= 0 && further < end)) throw new Error("a statement gave items of another layout");
    this.#open = item;
  }

  startOf(part: number): number {
    return this.#parts[part] as number;
  }

  endOf(part: number): number {
    return (this.#parts[part + 1] as number) - 1;
  }

  /** A part of the open item as latin1, one character per byte. */
  text(part: number): string {
    return this.bytes.toString("latin1", this.startOf(part), this.endOf(part));
  }

  /** The parts of an item as text. */
  item(item: number): Item {
    this.open(item);
    return Array.from({ length: this.#partCount }, (_, part) =>
      this.bytes.toString("utf8", this.startOf(part), this.endOf(part)),
    );
  }

  /** Whether an item starts with `length` bytes of another value. */
  startsWith(item: number, other: Buffer, start: number, length: number): boolean {
    return areEqual(this.bytes, this.#starts[item] ?? 0, other, start, length);
  }
}

/** Whether a word contains the mark: XOR makes that byte zero, and only a zero byte borrows when 1 is subtracted. */
function hasPartMark(word: number): boolean {
  const other = word ^ (partByte * 0x01010101);
  return ((other - 0x01010101) & ~other & 0x80808080) !== 0;
}

/** Whether `length` bytes from two positions on are equal. */
export function areEqual(one: Buffer, oneAt: number, other: Buffer, otherAt: number, length: number): boolean {
  for (let index = 0; index < length; index += 1) if (one[oneAt + index] !== other[otherAt + index]) return false;
  return true;
}

/** The parts of a record: the address and the stored fields. */
const recordParts = 1 + storedNames(contractFields).length;
/** Length of an address in hex digits. */
export const addressLength = 40;

/** The contracts of a page's items as bytes from the statement, looked up by address (see `contractsSql`). */
export class ContractBytes {
  /** Addresses of the ERC-1155 contracts; all others are ERC-721. */
  readonly #multi: ItemBytes | null;
  /** Records of the contracts with known metadata. */
  readonly #records: ItemBytes | null;
  /** The standard of all of them, if known. */
  readonly #standard: Standard | null;
  #last = { multi: 0, record: 0 };

  /** @param most contracts at most. @param standard of all of them, if known. */
  constructor(multi: Buffer | null, records: Buffer | null, most: number, standard: Standard | null = null) {
    this.#multi = multi && new ItemBytes(multi, 1, most);
    this.#records = records && new ItemBytes(records, recordParts, most);
    this.#standard = standard;
  }

  /** A single contract. @param record its rendered text; null if its metadata is unknown. */
  static one(standard: Standard, record: Buffer | null): ContractBytes {
    return new ContractBytes(null, record, 1, standard);
  }

  /** @param bytes with the address as hex digits from `start`. */
  standard(bytes: Buffer, start: number): Standard {
    if (this.#standard) return this.#standard;
    const place = this.#multi ? placeOf(this.#multi, this.#last.multi, bytes, start) : -1;
    if (place < 0) return "ERC721";
    this.#last.multi = place;
    return "ERC1155";
  }

  /** The contract's record, opened; null if its metadata is unknown. */
  record(bytes: Buffer, start: number): ItemBytes | null {
    const records = this.#records;
    const place = records ? placeOf(records, this.#last.record, bytes, start) : -1;
    if (!records || place < 0) return null;
    records.open(place);
    this.#last.record = place;
    return records;
  }

  /** Everything known of a contract, as text. @param address hex digits, without 0x. */
  parts(address: string): RecordParts {
    const bytes = Buffer.from(address);
    const stored = this.record(bytes, 0)?.item(this.#last.record).slice(1) ?? [];
    return { address, standard: this.standard(bytes, 0), stored };
  }
}

/** Searches onward from the last match: tokens of one contract are mostly adjacent, in the contracts' order. */
function placeOf(among: ItemBytes, last: number, bytes: Buffer, start: number): number {
  const { count } = among;
  for (let step = 0, at = last; step < count; step += 1, at += 1) {
    if (at === count) at = 0;
    if (among.startsWith(at, bytes, start, addressLength)) return at;
  }
  return -1;
}
