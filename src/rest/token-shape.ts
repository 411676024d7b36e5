import type { ContractMember, JsonMember, NftShape } from "../nfts/compose.ts";
import { type AnyField, contractFields, type TokenField, tokenFields, type V0Group, v0Fields } from "../nfts/fields.ts";
import { type ContractRecord, type Nft, unknownContract } from "../nfts/nft-record.ts";
import { RawJson } from "./answer.ts";

/** The members of a token that the caller gets in addition to the base ones. */
export interface TokenMembers {
  metadata: boolean;
  fileInformation: boolean;
  contract: boolean;
  dates: boolean;
}

function members<F extends string>(table: Record<string, AnyField>, group: V0Group): JsonMember<F>[] {
  return v0Fields(table, group).map(([field, { v0 }]) => ({ name: v0?.name ?? field, field: field as F }));
}
const ofToken = (group: V0Group): NftShape => members<TokenField>(tokenFields, group);

/** The contract record: always an object; its texts are null if the contract provides none. */
export const contractMembers: readonly ContractMember[] = [
  ...members<keyof typeof contractFields>(contractFields, "record"),
  { name: "metadata", field: { group: "contractTexts", members: members(contractFields, "recordMetadata") } },
];

const contract: JsonMember = { name: "contract", field: { group: "contract", members: contractMembers } };
const chain = ofToken("chain");
const key = ofToken("key");
const files = ofToken("files");
const document = ofToken("document");
/** An account's lists have these two in the other order, as the original service wrote them. */
const accountDocument = document.toReversed();
const creator = ofToken("creator");
/** Members that the original service did not have come after its own. */
const reading = ofToken("reading");
const fileInformation: JsonMember = {
  name: "file_information",
  field: {
    group: "fileInformation",
    members: [
      { name: "height", field: "height" },
      { name: "width", field: "width" },
      { name: "file_size", field: "sizeBytes" },
    ],
  },
};
const dates: NftShape = [
  { name: "mint_date", field: "mintDate" },
  { name: "updated_date", field: "updatedDate" },
];

/** One array per set of members, because statements are cached by a shape's identity. */
const shapes = new Map<string, NftShape>();
function once(name: string, make: () => NftShape): NftShape {
  const known = shapes.get(name) ?? make();
  shapes.set(name, known);
  return known;
}

export function accountItemShape(show: { metadata: boolean; contract: boolean }): NftShape {
  return once(`account ${show.metadata} ${show.contract}`, () => [
    ...[...key, ...ofToken("texts"), ...files, ...creator],
    ...(show.metadata ? accountDocument : []),
    ...(show.contract ? [contract] : []),
    ...chain,
    ...(show.metadata ? reading : []),
  ]);
}

/** An item of a contract's or a chain's list. */
export function listItemShape(show: TokenMembers): NftShape {
  const { metadata, fileInformation: file, contract: record, dates: times } = show;
  return once(`list ${metadata} ${file} ${record} ${times}`, () => [
    ...[...chain, ...key],
    ...(show.metadata ? document : []),
    ...(show.fileInformation ? [fileInformation] : []),
    ...(show.metadata ? files : []),
    ...(show.contract ? [contract] : []),
    ...(show.dates ? dates : []),
    ...(show.metadata ? reading : []),
  ]);
}

/** The token in a details answer: every member, whatever was requested. */
export const detailsShape: NftShape = [
  ...[...chain, ...key, ...document, fileInformation, ...files, ...creator, ...dates],
  { name: "rarity", field: "null" },
  ...[...ofToken("owner"), ...reading],
];

/** A token in a creator's list, without its holders. */
function createdItemShape(show: { metadata: boolean; contract: boolean }): NftShape {
  return once(`created ${show.metadata} ${show.contract}`, () => [
    ...[...chain, ...key, ...ofToken("texts")],
    ...(show.metadata ? accountDocument : []),
    ...files,
    ...(show.contract ? [contract] : []),
    ...(show.metadata ? reading : []),
  ]);
}

type Members = Record<string, unknown>;

/** The contract record: always an object; its texts are null if the contract provides none. */
export function contractBody(contract: ContractRecord): Members {
  return contractOf(contractMembers, contract);
}

/** A token in a creator's list. */
export function createdItemBody(nft: Nft, show: { metadata: boolean; contract: boolean }): Members {
  const members = createdItemShape(show).map(({ name, field }: JsonMember) => {
    if (typeof field !== "object") return [name, wireValueOf(tokenFields, nft, field)];
    return [name, contractBody(nft.contractRecord ?? unknownContract(nft))];
  });
  return { ...Object.fromEntries(members), owner_addresses: nft.holders ?? [] };
}

/** A URL of the file for browsers if we have no copy: IPFS through the configured gateway; null if there is none. */
export function servedFileUrl(url: string | null, gateway: string): string | null {
  if (url === null) return null;
  const path = /^ipfs:\/\/(?:ipfs\/)?(.+)$/i.exec(url)?.[1];
  return path === undefined ? (/^https?:\/\//i.test(url) ? url : null) : `${gateway}/${path}`;
}

function contractOf(members: readonly ContractMember[], contract: ContractRecord): Members {
  return Object.fromEntries(
    members.map(({ name, field }) => [
      name,
      typeof field === "object"
        ? contractOf(field.members as readonly ContractMember[], contract)
        : wireValueOf(contractFields, contract, field),
    ]),
  );
}

/** A record's field as /v0 shows it. */
function wireValueOf(table: Record<string, AnyField>, record: object, name: string): unknown {
  const value = (record as Members)[name];
  if (table[name]?.from === "document" && typeof value === "string") return new RawJson(value);
  return typeof value === "bigint" ? String(value) : value;
}
