import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from "graphql";
import type { ContractMember, ContractMemberName, FileMember, JsonMember, NftMember } from "../../nfts/compose.ts";
import { contractFields, tokenFields } from "../../nfts/fields.ts";

export type Fragments = Record<string, FragmentDefinitionNode>;

/** A field of a selection, by the name that it has in the answer. */
export interface Member {
  name: string;
  field: string;
  node: FieldNode;
}

/** Members that are no fields of the table under their GraphQL names. */
const tokenNames: Record<string, NftMember> = { id: "id", __typename: "nftTypename" };
const contractNames: Record<string, ContractMemberName> = {
  id: "id",
  __typename: "contractTypename",
  // Its text is put there by whoever reads the list.
  nfts: "listMark",
};
const fileNames: Record<string, FileMember> = {
  width: "width",
  height: "height",
  sizeBytes: "sizeBytes",
  __typename: "fileTypename",
};

/** The members of a token's object; null: the selection is not for a plan. */
export function nftShape(set: SelectionSetNode | undefined, fragments: Fragments): JsonMember[] | null {
  const members = set && flatten(set, "Nft", fragments);
  if (!members) return null;
  const shape = members.map(({ name, field, node }): JsonMember | null => {
    if (field === "contract") {
      const inner = contractMembersOf(node, fragments);
      if (inner?.some((member) => member.field === "listMark")) return null;
      return inner && { name, field: { group: "contract", members: inner } };
    }
    if (field === "fileInformation") {
      const inner = namedMembers(node, "FileInformation", fileNames, fragments);
      return inner && { name, field: { group: "fileInformation", members: inner } };
    }
    const known = memberNamed<NftMember>(field, tokenNames, tokenFields);
    return known ? { name, field: known } : null;
  });
  const whole = shape.filter((member) => member !== null);
  return whole.length === shape.length ? whole : null;
}

/** The same of a contract's. */
export function contractMembersOf(node: FieldNode, fragments: Fragments): ContractMember[] | null {
  return namedMembers(node, "Contract", contractNames, fragments, contractFields);
}

function namedMembers<F extends string>(
  node: FieldNode,
  type: string,
  names: Record<string, F>,
  fragments: Fragments,
  fields: object = {},
): JsonMember<F>[] | null {
  const inner = node.selectionSet && flatten(node.selectionSet, type, fragments);
  const known = inner?.flatMap((member): JsonMember<F>[] => {
    const field = memberNamed(member.field, names, fields);
    return field ? [{ name: member.name, field }] : [];
  });
  return inner && known?.length === inner.length ? known : null;
}

function memberNamed<F extends string>(name: string, names: Record<string, F>, fields: object): F | undefined {
  if (Object.hasOwn(fields, name)) return name as F;
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** The fields of a selection with those of its fragments; null where directives or other types are. */
export function flatten(set: SelectionSetNode, type: string, fragments: Fragments): Member[] | null {
  const members: Member[] = [];
  for (const selection of set.selections) {
    if ((selection.directives ?? []).length > 0) return null;
    if (selection.kind === Kind.FIELD) {
      members.push({ name: (selection.alias ?? selection.name).value, field: selection.name.value, node: selection });
      continue;
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments[selection.name.value];
    if (!fragment || (fragment.typeCondition && fragment.typeCondition.name.value !== type)) return null;
    const inner = flatten(fragment.selectionSet, type, fragments);
    if (!inner) return null;
    members.push(...inner);
  }
  // Fields that come twice are merged by an executor.
  return new Set(members.map(({ name }) => name)).size === members.length ? members : null;
}
