import type { ContractField, TokenField } from "./fields.ts";

/** A member of an object: its name, and which value it has. An API says which members it wants under which names. */
export interface JsonMember<F extends string = NftMember> {
  name: string;
  field: F | JsonGroup;
}

/** A nested object. */
type JsonGroup =
  | { group: "contract"; members: readonly ContractMember[] }
  | { group: "contractTexts"; members: readonly ContractMember[] }
  | { group: "fileInformation"; members: readonly JsonMember<FileMember>[] };

export type NftShape = readonly JsonMember[];
export type ContractMember = JsonMember<ContractMemberName>;

/** A field, or one written in another way; `null` is always null. */
export type NftMember = TokenField | "id" | "mintDate" | "updatedDate" | "null" | "nftTypename";
export type ContractMemberName = ContractField | "id" | "contractTypename" | "listMark";
export type FileMember = "width" | "height" | "sizeBytes" | "fileTypename";
