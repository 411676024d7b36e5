import type { Standard } from "../db/tables/nft.ts";
import type { JsonText } from "../json/json-text.ts";
import { ByteWriter, Fixed } from "./byte-writer.ts";
import { contractMember, nftMember, sourceOf } from "./compose.ts";
import { addressLength, type ContractBytes } from "./contract-bytes.ts";
import { toIso, toNaiveSeconds, writeIsoSeconds } from "./field-times.ts";
import { type AnyField, contractFields, type Facts, storedNames, tokenFields } from "./fields.ts";
import { fieldOf, type Layout, latin1Of, type RecordParts } from "./item.ts";
import { areEqual, type ItemBytes } from "./item-bytes.ts";
import type { ContractMember, JsonMember, NftShape } from "./shape.ts";

/*
 * Pages are put together as bytes: what goes out as it came is copied, and is never a text of its own. Texts are what most
 * of a page's memory would be. What is written otherwise here than in compose.ts is compared with it by
 * test/nfts/compose-bytes.test.ts.
 */

/** A page's items, and what they show beside their own parts. */
interface PageBytes {
  items: ItemBytes;
  /** Null: no item shows its contract. */
  contracts: ContractBytes | null;
  facts: Facts;
}

/** Writes the first items of a page, with commas between them. */
export type WriteItems = (page: PageBytes, count: number) => JsonText;

/** Writes a member of the open item, its name included. @param item its number: members are written from the first item on. */
type WriteMember = (page: PageBytes, item: number) => void;

/** Whatever is written is written at once, so one is enough. */
const out = new ByteWriter();
const [comma, closing] = [0x2c, 0x7d];

/** @returns how to write items of this shape. */
export function composeItems(shape: NftShape, layout: Layout): WriteItems {
  const members = shape.map((member, index) => itemMember(member, nameOf(member, index), layout));
  const empty = new Fixed("{");
  return (page, count) => {
    out.reset();
    for (let item = 0; item < count; item += 1) {
      page.items.open(item);
      if (item > 0) out.byte(comma);
      if (members.length === 0) out.put(empty);
      for (const write of members) write(page, item);
      out.byte(closing);
    }
    return out.take();
  };
}

function nameOf(member: JsonMember<string>, index: number): string {
  return `${index === 0 ? "{" : ","}${latin1Of(JSON.stringify(member.name))}:`;
}

function itemMember(member: JsonMember, name: string, layout: Layout): WriteMember {
  const { field } = member;
  if (typeof field === "object") {
    if (field.group !== "fileInformation") return contractGroup(field.members, name, layout);
  } else if (field === "chain") {
    const chain = byFacts((facts) => name + facts.chain);
    return ({ facts }) => out.put(chain(facts));
  } else {
    const source = sourceOf(field);
    if (source !== null && fieldOf(tokenFields, source).copy) return ownCopy(name, layout.at(source as never));
    const copied = source !== null && copiedFrom(field, fieldOf(tokenFields, source));
    if (copied) {
      const write = copy(name, copied, layout.at(source as never));
      return ({ items }) => write(items);
    }
  }
  if (field === "mintedAt" || field === "mintDate") return minted(name, layout.at("mintedAt"), field === "mintedAt");
  const part = (of: string) => {
    const at = layout.at(of as never);
    return (items: ItemBytes) => items.text(at);
  };
  const text = nftMember<ItemBytes>(member, part);
  const before = new Fixed(name);
  return ({ items, facts }) => {
    out.put(before);
    out.latin1(text(items, { facts, contract: noContract }));
  };
}

/** A text that depends on what is known before the statement runs: the same for a page, and mostly for the next one. */
function byFacts(text: (facts: Facts) => string): (facts: Facts) => Fixed {
  let last: { facts: Facts; fixed: Fixed } | null = null;
  return (facts) => {
    if (last?.facts !== facts) last = { facts, fixed: new Fixed(text(facts)) };
    return last.fixed;
  };
}

/** The URL of our own copy: the part is its path as a JSON string, `null` without one. */
function ownCopy(name: string, part: number): WriteMember {
  const start = byFacts(({ cachedBase }) => `${name}"${cachedBase}`);
  const nothing = new Fixed(`${name}null`);
  const quote = 0x22;
  return ({ items, facts }) => {
    const [from, to] = [items.startOf(part), items.endOf(part)];
    if (from === to || items.bytes[from] !== quote) return out.put(nothing);
    out.put(start(facts));
    out.copy(items.source, from + 1, to);
  };
}

/** @param zoned with parts of a second and the zone, as GraphQL shows it. */
function minted(name: string, part: number, zoned: boolean): WriteMember {
  const [start, nothing] = [new Fixed(`${name}"`), new Fixed(`${name}null`)];
  const [end, quote] = [new Fixed(zoned ? '.000Z"' : '"'), new Fixed('"')];
  return ({ items }) => {
    const [from, to] = [items.startOf(part), items.endOf(part)];
    if (from === to) return out.put(nothing);
    out.put(start);
    if (writeIsoSeconds(out, items.bytes, from, to)) return out.put(end);
    out.latin1((zoned ? toIso : toNaiveSeconds)(items.text(part)));
    out.put(quote);
  };
}

const noContract = (): never => {
  throw new Error("contracts are written as bytes");
};

/** What a member puts around the part it copies, and how much it leaves out at its end. */
interface Copied {
  before: string;
  after: string;
  cut: number;
}

/** Null: the member is more than a copy. */
function copiedFrom(member: string, field: AnyField): Copied | null {
  if (member === "updatedDate") return { before: '"', after: '"', cut: 0 };
  if (member === "mintDate" || !field.around) return null;
  const [before, after, cut = 0] = field.around;
  return { before, after, cut };
}

/** Copies a part of the open item; an empty one is null. */
function copy(name: string, { before, after, cut }: Copied, part: number): (items: ItemBytes) => void {
  const [start, end, nothing] = [new Fixed(name + before), new Fixed(after), new Fixed(`${name}null`)];
  return (items) => {
    const [from, to] = [items.startOf(part), items.endOf(part)];
    if (from === to) return out.put(nothing);
    out.put(start);
    out.copy(items.source, from, to - cut);
    out.put(end);
  };
}

/** The contract of an item. Tokens of one contract mostly stand beside each other: it is written once for them. */
function contractGroup(members: readonly ContractMember[], name: string, layout: Layout): WriteMember {
  const address = layout.at("contractAddress");
  const before = new Fixed(name);
  const write = contractObject(members);
  // One object for all: a page has up to a hundred contracts.
  const contract: OpenContract = { page: null as never, start: 0, standard: "ERC721", record: null };
  const last = { start: 0, end: 0 };
  return (page, item) => {
    const { items, contracts } = page;
    if (!contracts) throw new Error("a statement gave no contracts");
    out.put(before);
    const start = items.startOf(address);
    if (item > 0 && areEqual(items.bytes, contract.start, items.bytes, start, addressLength))
      return out.again(last.start, last.end);
    contract.page = page;
    contract.start = start;
    contract.standard = contracts.standard(items.bytes, start);
    contract.record = contracts.record(items.bytes, start);
    last.start = out.length;
    write(contract);
    last.end = out.length;
  };
}

/** A contract whose parts are open. */
interface OpenContract {
  page: PageBytes;
  /** Where its address is in the bytes of the items. */
  start: number;
  standard: Standard;
  /** Null: nothing is known of its metadata. */
  record: ItemBytes | null;
}

function contractObject(members: readonly ContractMember[]): (contract: OpenContract) => void {
  const writers = members.map((member, index) => contractBytes(member, nameOf(member, index)));
  const empty = new Fixed("{");
  return (contract) => {
    if (writers.length === 0) out.put(empty);
    for (const write of writers) write(contract);
    out.byte(closing);
  };
}

function contractBytes(member: ContractMember, name: string): (contract: OpenContract) => void {
  const { field } = member;
  const before = new Fixed(name);
  if (typeof field === "object") {
    const write = contractObject(field.group === "fileInformation" ? [] : field.members);
    return (contract) => {
      out.put(before);
      write(contract);
    };
  }
  if (field === "address") {
    const [opening, quote] = [new Fixed(`${name}"0x`), new Fixed('"')];
    return ({ page, start }) => {
      out.put(opening);
      out.copy(page.items.source, start, start + addressLength);
      out.put(quote);
    };
  }
  if (field === "standard") {
    const [single, multi] = [new Fixed(`${name}"ERC721"`), new Fixed(`${name}"ERC1155"`)];
    return ({ standard }) => out.put(standard === "ERC721" ? single : multi);
  }
  const at = storedContractNames.indexOf(field);
  const copied = at < 0 ? null : copiedFrom(field, fieldOf(contractFields, field));
  if (copied) {
    const write = copy(name, copied, 1 + at);
    const nothing = new Fixed(`${name}null`);
    return ({ record }) => (record ? write(record) : out.put(nothing));
  }
  const text = contractMember(member);
  return (contract) => {
    out.put(before);
    out.latin1(text(partsOf(contract), { facts: contract.page.facts, contract: noContract }));
  };
}

const storedContractNames = storedNames(contractFields);

/** The same as texts. */
function partsOf({ page, start, standard, record }: OpenContract): RecordParts {
  return {
    address: page.items.bytes.toString("latin1", start, start + addressLength),
    standard,
    stored: record ? storedContractNames.map((_, at) => record.text(1 + at)) : [],
  };
}
