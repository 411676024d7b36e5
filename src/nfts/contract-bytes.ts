import { contractFields, storedNames } from "./fields.ts";
import { type RecordParts, recordOf } from "./item.ts";
import { ItemBytes } from "./item-bytes.ts";
import { partMark } from "./rendered.ts";

/** Parts of a contract, and of its record: the address is the first of both. */
export const contractParts = { address: 0, standard: 1 };
const recordParts = 1 + storedNames(contractFields).length;
/** Hex digits of an address. */
export const addressLength = 40;

/** The contracts of a page's items as the bytes that a statement gave, found by address. */
export class ContractBytes {
  /** Address and standard of each. */
  readonly contracts: ItemBytes;
  /** Address and rendered record of those whose metadata is known. */
  readonly records: ItemBytes | null;
  #contract = 0;
  #record = 0;

  /** @param most contracts. */
  constructor(contracts: Buffer, records: Buffer | null, most: number) {
    this.contracts = new ItemBytes(contracts, 2, most);
    this.records = records && new ItemBytes(records, recordParts, most);
  }

  /** One contract. @param record its rendered text, null where no metadata is known. */
  static one(address: string, standard: string, record: string | null): ContractBytes {
    const bytes = (text: string) => Buffer.from(`${address}${partMark}${text}`, "latin1");
    return new ContractBytes(bytes(standard), record === null ? null : bytes(record), 1);
  }

  /** Opens the contract of this address, in hex digits from `start` of some bytes. @returns which one it is; -1: none. */
  find(bytes: Buffer, start: number): number {
    const found = placeOf(this.contracts, this.#contract, bytes, start);
    if (found < 0) return -1;
    this.contracts.open(found);
    this.#contract = found;
    return found;
  }

  /** The same of its record. @returns null: nothing is known of its metadata. */
  findRecord(bytes: Buffer, start: number): ItemBytes | null {
    const found = this.records ? placeOf(this.records, this.#record, bytes, start) : -1;
    if (!this.records || found < 0) return null;
    this.records.open(found);
    this.#record = found;
    return this.records;
  }

  /** The record with texts of one character for each byte. */
  parts(address: string): RecordParts | null {
    const bytes = Buffer.from(address, "latin1");
    if (this.find(bytes, 0) < 0) return null;
    const record = this.findRecord(bytes, 0);
    const stored = record ? record.bytes.toString("latin1", record.startOf(1), record.endOf(recordParts - 1)) : null;
    return recordOf(address, this.contracts.text(contractParts.standard), stored);
  }
}

/** Looks on from where the last one was found: tokens of one contract mostly stand beside each other, in the contracts' order. */
function placeOf(among: ItemBytes, last: number, bytes: Buffer, start: number): number {
  const { count } = among;
  for (let step = 0; step < count; step += 1) {
    const at = (last + step) % count;
    if (among.startsWith(at, bytes, start, start + addressLength)) return at;
  }
  return -1;
}
