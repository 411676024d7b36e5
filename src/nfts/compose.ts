import { toNaiveSeconds } from "./field-times.ts";
import { contractFields, type Facts, tokenFields } from "./fields.ts";
import { contractPart, fieldOf, type Item, type Layout, type RecordParts } from "./item.ts";
import type { LiveName, Needs } from "./item-sql.ts";
import type { ContractMember, FileMember, JsonMember, NftShape } from "./shape.ts";

/*
 * Answers are put together from the parts that statements give: what was rendered when metadata was stored goes out as it
 * is, whichever members a request asks for. Here it is put together as texts with one character for each byte, which is for
 * what is small; pages are put together as bytes (compose-bytes.ts).
 */

/** Where the text of a list goes into that of its object: no JSON text has this character in it. */
export const listMark = "\u0002";

/** What a shape shows that does not stand in each item. */
export interface Beside {
  facts: Facts;
  /** The contract of an item. */
  contract: (address: string) => RecordParts;
}

/** How a part of an item is read, by its name. */
type PartOf<T> = (name: string) => (item: T) => string;
type Write<T> = (value: T, beside: Beside) => string;

/** What a statement has to give for a shape, and whether that includes the contracts' records. */
export function needsOf(shape: NftShape): Needs & { contract: boolean } {
  const live = new Set<LiveName>();
  let [document, stored, contract] = [false, false, false];
  for (const { field } of shape) {
    if (typeof field === "object") {
      if (field.group === "fileInformation") stored = true;
      else contract = true;
      continue;
    }
    const name = sourceOf(field);
    const from = name === null ? "request" : fieldOf(tokenFields, name).from;
    if (from === "live") live.add(name as LiveName);
    else if (from === "document") document = true;
    else if (from === "stored") stored = true;
  }
  return { live, document, stored, contract };
}

/** The field whose value a member shows; null: it has one of its own. */
export function sourceOf(field: string): string | null {
  if (field === "mintDate") return "mintedAt";
  if (field === "updatedDate") return "metadataUpdatedAt";
  return Object.hasOwn(tokenFields, field) ? field : null;
}

/** @returns how to write a token of this shape. */
export function composeNft(shape: NftShape, layout: Layout): Write<Item> {
  const part = (name: string) => {
    const at = layout.at(name as never);
    return (item: Item) => item[at] ?? "";
  };
  return objectWriter(shape.map((member) => [member.name, nftMember(member, part)]));
}

/** The same of a contract alone. */
export function composeContract(members: readonly ContractMember[]): Write<RecordParts> {
  return objectWriter(members.map((member) => [member.name, contractMember(member)]));
}

function objectWriter<T>(members: readonly [name: string, write: Write<T>][]): Write<T> {
  if (members.length === 0) return () => "{}";
  const parts = members.map(
    ([name, write], index) => [`${index === 0 ? "{" : ","}${JSON.stringify(name)}:`, write] as const,
  );
  return (value, beside) => {
    let text = "";
    for (const [before, write] of parts) text += before + write(value, beside);
    return `${text}}`;
  };
}

/** How one member of a token is written. @param part how a part of the item is read. */
export function nftMember<T>({ field }: JsonMember, part: PartOf<T>): Write<T> {
  if (typeof field === "object") {
    if (field.group === "fileInformation") return fileMember(field.members, part("fileInformation"));
    const write = composeContract(field.members);
    const address = part("contractAddress");
    // Tokens of one contract mostly stand beside each other.
    let last: { record: RecordParts; beside: Beside; text: string } | undefined;
    return (item: T, beside) => {
      const record = beside.contract(address(item));
      if (last?.record !== record || last.beside !== beside) last = { record, beside, text: write(record, beside) };
      return last.text;
    };
  }
  const [address, tokenId] = [part("contractAddress"), part("tokenId")];
  if (field === "id")
    return (item, { facts }) => nodeId(`Nft:${JSON.parse(facts.chain)}:0x${address(item)}:${tokenId(item)}`);
  if (field === "nftTypename") return () => '"Nft"';
  if (field === "null") return () => "null";
  const source = part(sourceOf(field) ?? "");
  if (field === "mintDate") return (item) => (source(item) === "" ? "null" : `"${toNaiveSeconds(source(item))}"`);
  if (field === "updatedDate") return (item) => (source(item) === "" ? "null" : `"${source(item)}"`);
  const { json } = fieldOf(tokenFields, field);
  return (item, { facts }) => json(source(item), facts);
}

function fileMember<T>(members: readonly JsonMember<FileMember>[], part: (item: T) => string): Write<T> {
  const order = ["width", "height", "sizeBytes"];
  const write = objectWriter<readonly string[]>(
    members.map(({ name, field }) => [
      name,
      field === "fileTypename" ? () => '"FileInformation"' : (values) => values[order.indexOf(String(field))] ?? "null",
    ]),
  );
  return (item, beside) => (part(item) === "" ? "null" : write(part(item).split(","), beside));
}

export function contractMember(member: ContractMember): Write<RecordParts> {
  const { field } = member;
  if (typeof field === "object") return composeContract(field.group === "fileInformation" ? [] : field.members);
  if (field === "id") return ({ address }, { facts }) => nodeId(`Contract:${JSON.parse(facts.chain)}:0x${address}`);
  if (field === "contractTypename") return () => '"Contract"';
  if (field === "listMark") return () => listMark;
  const part = contractPart(field);
  const { json } = fieldOf(contractFields, field);
  return (record, { facts }) => json(part(record), facts);
}

/** As the GraphQL API names nodes. */
function nodeId(text: string): string {
  return `"${Buffer.from(text).toString("base64url")}"`;
}
