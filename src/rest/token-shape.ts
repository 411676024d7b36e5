import type { ContractMember, JsonMember, NftShape } from "../nfts/compose.ts";
import { type AnyField, contractFields, type TokenField, tokenFields, type V0Group, v0Fields } from "../nfts/fields.ts";

/** Which members of a token the caller gets beside the base ones. */
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

/** The contract record: an object always, its texts null when the contract tells none. */
export const contractMembers: readonly ContractMember[] = [
  ...members<keyof typeof contractFields>(contractFields, "record"),
  { name: "metadata", field: { group: "contractTexts", members: members(contractFields, "recordMetadata") } },
];

const contract: JsonMember = { name: "contract", field: { group: "contract", members: contractMembers } };
const chain = ofToken("chain");
const key = ofToken("key");
const files = ofToken("files");
const document = ofToken("document");
/** Lists of an account have the two in the other order, as the original service wrote them. */
const accountDocument = document.toReversed();
const creator = ofToken("creator");
/** What the original service did not tell, behind the members that it had. */
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

/** One array per set of members: whoever writes statements knows a shape by its identity. */
const shapes = new Map<string, NftShape>();
function once(name: string, make: () => NftShape): NftShape {
  const known = shapes.get(name) ?? make();
  shapes.set(name, known);
  return known;
}

/** An item of an account's list. */
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

/** The one token of a details answer: every member, whatever was asked for. */
export const detailsShape: NftShape = [
  ...[...chain, ...key, ...document, fileInformation, ...files, ...creator, ...dates],
  { name: "rarity", field: "null" },
  ...[...ofToken("owner"), ...reading],
];

/** A token in a creator's list, but for its holders. */
export function createdItemShape(show: { metadata: boolean; contract: boolean }): NftShape {
  return once(`created ${show.metadata} ${show.contract}`, () => [
    ...[...chain, ...key, ...ofToken("texts")],
    ...(show.metadata ? accountDocument : []),
    ...files,
    ...(show.contract ? [contract] : []),
    ...(show.metadata ? reading : []),
  ]);
}
