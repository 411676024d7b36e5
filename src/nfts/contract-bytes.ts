import type { Standard } from "../db/tables/nft.ts";
import { contractFields, storedNames } from "./fields.ts";
import { type RecordParts, recordOf } from "./item.ts";
import { ItemBytes } from "./item-bytes.ts";

/** Parts of a record: the address, and what is stored. */
const recordParts = 1 + storedNames(contractFields).length;
/** Hex digits of an address. */
export const addressLength = 40;

/** The contracts of a page's items as the bytes that a statement gave, found by address (see `contractsSql`). */
export class ContractBytes {
  /** Those of ERC-1155; the others are of ERC-721. */
  readonly #multi: ItemBytes | null;
  /** Of those whose metadata is known. */
  readonly #records: ItemBytes | null;
  /** Of all of them. */
  readonly #standard: Standard | null;
  #found = { multi: 0, record: 0 };

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
    const found = this.#multi ? placeOf(this.#multi, this.#found.multi, bytes, start) : -1;
    if (found < 0) return "ERC721";
    this.#found.multi = found;
    return "ERC1155";
  }

  /** Its record, opened; null: nothing is known of its metadata. */
  record(bytes: Buffer, start: number): ItemBytes | null {
    const records = this.#records;
    const found = records ? placeOf(records, this.#found.record, bytes, start) : -1;
    if (!records || found < 0) return null;
    records.open(found);
    this.#found.record = found;
    return records;
  }

  /** The same with texts of one character for each byte. */
  parts(address: string): RecordParts {
    const bytes = Buffer.from(address, "latin1");
    const record = this.record(bytes, 0);
    const text = record ? record.bytes.toString("latin1", record.startOf(0), record.endOf(recordParts - 1)) : null;
    return recordOf(address, this.standard(bytes, 0), text);
  }
}

/** Looks on from where the last one was found: tokens of one contract mostly stand beside each other, in the contracts' order. */
function placeOf(among: ItemBytes, last: number, bytes: Buffer, start: number): number {
  const { count } = among;
  for (let step = 0, at = last; step < count; step += 1, at += 1) {
    if (at === count) at = 0;
    if (among.startsWith(at, bytes, start, addressLength)) return at;
  }
  return -1;
}
