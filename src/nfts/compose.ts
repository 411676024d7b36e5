import type { Standard } from "../db/tables/nft.ts";
import type { JsonText } from "../json/json-text.ts";
import { ByteWriter, Fixed, type Source, sourceOf, writeIsoSeconds } from "./byte-writer.ts";
import {
  type AnyField,
  type ContractField,
  contractFields,
  type Facts,
  linkedMark,
  storedNames,
  type TokenField,
  toIso,
  tokenFields,
  toNaiveSeconds,
} from "./fields.ts";
import { type Layout, latin1Of } from "./item.ts";
import { addressLength, areEqual, type ContractBytes, type ItemBytes } from "./item-bytes.ts";
import type { LiveName } from "./item-sql.ts";
import type { PageNeeds } from "./select-page.ts";

/*
 * Answers are assembled as bytes from the parts that statements return. Text that was rendered when metadata was stored
 * is copied as it is, whichever members a request asks for, and never becomes a JavaScript string: strings would be
 * most of a page's memory.
 */

/** A member of an object: its name and its value's source. Each API chooses the members and their names. */
export interface JsonMember<F extends string = NftMember> {
  name: string;
  field: F | JsonGroup;
}

/** A nested object. */
type JsonGroup =
  | { group: "contract"; members: readonly ContractMember[] }
  | { group: "contractTexts"; members: readonly ContractMember[] }
  | { group: "fileInformation"; members: readonly JsonMember<FileMember>[] };

/** Each API keeps every shape as a single object, because what is derived from a shape is cached by identity. */
export type NftShape = readonly JsonMember[];
export type ContractMember = JsonMember<ContractMemberName>;

/** A field, or a field in another notation; `null` is always null. */
export type NftMember = TokenField | "id" | "mintDate" | "updatedDate" | "null" | "nftTypename";
export type ContractMemberName = ContractField | "id" | "contractTypename" | "listMark";
export type FileMember = "width" | "height" | "sizeBytes" | "fileTypename";

/** Marks where a list's text goes inside its object's text: no JSON text contains this character. */
export const listMark = "\u0002";

/** The items of a page, and what their members need in addition. */
interface PageBytes {
  items: ItemBytes;
  contracts: ContractBytes;
  /** Text as latin1 of UTF-8 bytes. */
  facts: Facts;
}

/** Writes the items of a page from `first` (default 0) up to but excluding `end`, separated by commas. */
export type WriteItems = (page: PageBytes, end: number, first?: number) => JsonText;

/** Writes a contract record. @param address hex digits, without 0x. */
type WriteRecord = (contracts: ContractBytes, address: string, facts: Facts) => JsonText;

/** Writes a member with its name. */
type Write<T> = (value: T) => void;

/** The item being written. */
interface OpenItem extends PageBytes {
  /** It is the first item of this call. */
  isFirst: boolean;
}

/** A contract being written. */
interface OpenContract {
  /** The bytes with its address, as hex digits from `start`. */
  source: Source;
  start: number;
  standard: Standard;
  /** Null: its metadata is unknown. */
  record: ItemBytes | null;
  facts: Facts;
}

/** Writing is synchronous, so one writer is enough. */
const out = new ByteWriter();
const [comma, closing] = [0x2c, 0x7d];
const linkedByte = linkedMark.charCodeAt(0);

const needs = new WeakMap<NftShape, PageNeeds>();
const itemWriters = new WeakMap<NftShape, WeakMap<Layout, WriteItems>>();
const recordWriters = new WeakMap<readonly ContractMember[], WriteRecord>();

function kept<K extends object, V>(known: WeakMap<K, V>, key: K, make: () => V): V {
  const value = known.get(key) ?? make();
  known.set(key, value);
  return value;
}

/** What a statement has to return for a shape. */
export function needsOfShape(shape: NftShape): PageNeeds {
  return kept(needs, shape, () => makeNeeds(shape));
}

function makeNeeds(shape: NftShape): PageNeeds {
  const groups = shape.flatMap(({ field }) => (typeof field === "object" ? [field.group] : []));
  const fields = shape.flatMap(({ field }) => (typeof field === "object" ? [] : (fieldOf(field) ?? [])));
  const from = new Set(fields.map((name) => tokenFields[name].from));
  return {
    live: new Set(fields.filter((name): name is TokenField & LiveName => tokenFields[name].from === "live")),
    document: from.has("document"),
    stored: from.has("stored") || groups.includes("fileInformation"),
    contract: groups.some((group) => group !== "fileInformation"),
  };
}

/** The field that a member shows; null if it shows none. */
function fieldOf(member: NftMember): TokenField | null {
  if (member === "mintDate") return "mintedAt";
  if (member === "updatedDate") return "metadataUpdatedAt";
  return Object.hasOwn(tokenFields, member) ? (member as TokenField) : null;
}

/** @returns a function that writes items of this shape. */
export function itemsWriter(shape: NftShape, layout: Layout): WriteItems {
  const ofShape = kept(itemWriters, shape, () => new WeakMap<Layout, WriteItems>());
  return kept(ofShape, layout, () => {
    const write = objectWriter(shape, (member, name) => itemMember(member, name, layout));
    return (page, end, first = 0) => {
      out.reset();
      const open = { ...page, isFirst: true };
      for (let item = first; item < end; item += 1) {
        page.items.open(item);
        if (item > first) out.byte(comma);
        write(open);
        open.isFirst = false;
      }
      return out.take();
    };
  });
}

/** @returns a function that writes a contract record with these members. */
export function recordWriter(members: readonly ContractMember[]): WriteRecord {
  return kept(recordWriters, members, () => {
    const write = objectWriter(members, contractMember);
    return (contracts, address, facts) => {
      out.reset();
      write(openContract(contracts, sourceOf(Buffer.from(address)), 0, facts));
      return out.take();
    };
  });
}

function openContract(contracts: ContractBytes, source: Source, start: number, facts: Facts): OpenContract {
  const { bytes } = source;
  return { source, start, standard: contracts.standard(bytes, start), record: contracts.record(bytes, start), facts };
}

function objectWriter<M extends { name: string }, T>(
  members: readonly M[],
  writerOf: (member: M, name: string) => Write<T>,
): Write<T> {
  const writers = members.map((member, index) => writerOf(member, `${index === 0 ? "{" : ","}${nameText(member)}:`));
  const empty = new Fixed("{");
  return (value) => {
    if (writers.length === 0) out.put(empty);
    for (const write of writers) write(value);
    out.byte(closing);
  };
}

function nameText({ name }: { name: string }): string {
  return latin1Of(JSON.stringify(name));
}

function itemMember({ field }: JsonMember, name: string, layout: Layout): Write<OpenItem> {
  if (typeof field === "object") {
    if (field.group !== "fileInformation") return contractGroup(field.members, name, layout.at("contractAddress"));
    return fileGroup(field.members, name, layout.at("fileInformation"));
  }
  if (field === "chain") return chainWriter(name);
  if (field === "nftTypename") return constant(`${name}"Nft"`);
  if (field === "null") return constant(`${name}null`);
  if (field === "id") {
    const [address, tokenId] = [layout.at("contractAddress"), layout.at("tokenId")];
    return textWriter(name, ({ items, facts }) => nodeId("Nft", facts, items.text(address), items.text(tokenId)));
  }
  if (field === "thumbnailUrl") return previewWriter(name, layout);
  const source = fieldOf(field) as TokenField;
  const write = writeValue(field, name, tokenFields[source], layout.at(source));
  return ({ items, facts }) => write(items, facts);
}

/** Writes a value from a part of the open item; an empty part becomes null. */
type WriteValue = (items: ItemBytes, facts: Facts) => void;

function writeValue(member: string, name: string, field: AnyField, part: number): WriteValue {
  if (member === "mintedAt" || member === "mintDate") return minted(name, part, member === "mintedAt");
  if (member === "updatedDate") return copied(name, part, ['"', '"']);
  if (field.copy) return ownCopy(name, part, "cachedBase");
  if (field.around) return copied(name, part, field.around);
  const before = new Fixed(name);
  return (items, facts) => {
    out.put(before);
    out.latin1(field.json(items.text(part), facts, () => ""));
  };
}

function copied(name: string, part: number, [before, after, cut = 0]: NonNullable<AnyField["around"]>): WriteValue {
  const [start, end, nothing] = [new Fixed(name + before), new Fixed(after), new Fixed(`${name}null`)];
  return (items) => {
    const [from, to] = [items.startOf(part), items.endOf(part)];
    if (from === to) return out.put(nothing);
    out.put(start);
    out.copy(items.source, from, to - cut);
    out.put(end);
  };
}

/** Writes a preview's URL: of our own copy, or the token's preview URL if its metadata links to a picture. */
function previewWriter(name: string, layout: Layout): Write<OpenItem> {
  const part = layout.at("thumbnailUrl");
  const [address, tokenId] = [layout.at("contractAddress"), layout.at("tokenId")];
  const own = ownCopy(name, part, "thumbnailBase");
  const start = byFacts((facts) => `${name}"${facts.linkedThumbnailBase}`);
  const [slash, quote] = [new Fixed("/"), new Fixed('"')];
  return ({ items, facts }) => {
    const isLinked = items.bytes[items.startOf(part)] === linkedByte && items.startOf(part) < items.endOf(part);
    if (!isLinked || facts.linkedThumbnailBase === "") return own(items, facts);
    out.put(start(facts));
    out.copy(items.source, items.startOf(address), items.endOf(address));
    out.put(slash);
    out.copy(items.source, items.startOf(tokenId), items.endOf(tokenId));
    out.put(quote);
  };
}

/** Writes the URL of our own copy. The part is its path as a JSON string, or another text if there is no copy. */
function ownCopy(name: string, part: number, base: "cachedBase" | "thumbnailBase"): WriteValue {
  const start = byFacts((facts) => `${name}"${facts[base]}`);
  const nothing = new Fixed(`${name}null`);
  const quote = 0x22;
  return (items, facts) => {
    const [from, to] = [items.startOf(part), items.endOf(part)];
    if (from === to || items.bytes[from] !== quote) return out.put(nothing);
    out.put(start(facts));
    out.copy(items.source, from + 1, to);
  };
}

/** @param zoned with milliseconds and zone, as GraphQL shows times. */
function minted(name: string, part: number, zoned: boolean): WriteValue {
  const [start, nothing] = [new Fixed(`${name}"`), new Fixed(`${name}null`)];
  const [end, quote] = [new Fixed(zoned ? '.000Z"' : '"'), new Fixed('"')];
  return (items) => {
    const [from, to] = [items.startOf(part), items.endOf(part)];
    if (from === to) return out.put(nothing);
    out.put(start);
    if (writeIsoSeconds(out, items.bytes, from, to)) return out.put(end);
    out.latin1((zoned ? toIso : toNaiveSeconds)(items.text(part)));
    out.put(quote);
  };
}

function fileGroup(members: readonly JsonMember<FileMember>[], name: string, part: number): Write<OpenItem> {
  return textWriter(name, ({ items }) => {
    const sizes = items.text(part);
    if (sizes === "") return "null";
    const [width, height, sizeBytes] = sizes.split(",");
    const values = { width, height, sizeBytes, fileTypename: '"FileInformation"' };
    return `{${members.map((member) => `${nameText(member)}:${values[member.field as FileMember]}`).join()}}`;
  });
}

/** Writes an item's contract. Tokens of one contract are mostly adjacent, so its bytes are repeated for them. */
function contractGroup(members: readonly ContractMember[], name: string, part: number): Write<OpenItem> {
  const before = new Fixed(name);
  const write = objectWriter(members, contractMember);
  let last = { address: 0, start: 0, end: 0 };
  return ({ items, contracts, facts, isFirst }) => {
    out.put(before);
    const address = items.startOf(part);
    if (!isFirst && areEqual(items.bytes, last.address, items.bytes, address, addressLength))
      return out.again(last.start, last.end);
    const start = out.length;
    write(openContract(contracts, items.source, address, facts));
    last = { address, start, end: out.length };
  };
}

const storedContractNames = storedNames(contractFields);

function contractMember({ field }: ContractMember, name: string): Write<OpenContract> {
  if (typeof field === "object") {
    const before = new Fixed(name);
    const write = objectWriter(field.group === "fileInformation" ? [] : field.members, contractMember);
    return (contract) => {
      out.put(before);
      write(contract);
    };
  }
  if (field === "chain") return chainWriter(name);
  if (field === "contractTypename") return constant(`${name}"Contract"`);
  if (field === "listMark") return constant(name + listMark);
  if (field === "id")
    return textWriter(name, ({ source, start, facts }) =>
      nodeId("Contract", facts, source.bytes.toString("latin1", start, start + addressLength)),
    );
  if (field === "address") {
    const [opening, quote] = [new Fixed(`${name}"0x`), new Fixed('"')];
    return ({ source, start }) => {
      out.put(opening);
      out.copy(source, start, start + addressLength);
      out.put(quote);
    };
  }
  if (field === "standard") {
    const [single, multi] = [new Fixed(`${name}"ERC721"`), new Fixed(`${name}"ERC1155"`)];
    return ({ standard }) => out.put(standard === "ERC721" ? single : multi);
  }
  // A record's first part is the address.
  const write = writeValue(field, name, contractFields[field], 1 + storedContractNames.indexOf(field));
  const nothing = new Fixed(`${name}null`);
  return ({ record, facts }) => (record ? write(record, facts) : out.put(nothing));
}

function constant(text: string): Write<unknown> {
  const fixed = new Fixed(text);
  return () => out.put(fixed);
}

function chainWriter(name: string): Write<{ facts: Facts }> {
  const chain = byFacts((facts) => name + facts.chain);
  return ({ facts }) => out.put(chain(facts));
}

/** A text that depends only on `facts`, which are the same for a page and mostly for the next: the last is kept. */
function byFacts(text: (facts: Facts) => string): (facts: Facts) => Fixed {
  let last: { facts: Facts; fixed: Fixed } | null = null;
  return (facts) => {
    if (last?.facts !== facts) last = { facts, fixed: new Fixed(text(facts)) };
    return last.fixed;
  };
}

/** @param text latin1, one character per byte. */
function textWriter<T>(name: string, text: (value: T) => string): Write<T> {
  const before = new Fixed(name);
  return (value) => {
    out.put(before);
    out.latin1(text(value));
  };
}

/** The GraphQL API's node id. */
function nodeId(type: string, { chain }: Facts, address: string, ...more: string[]): string {
  const text = [type, JSON.parse(chain), `0x${address}`, ...more].join(":");
  return `"${Buffer.from(text).toString("base64url")}"`;
}
