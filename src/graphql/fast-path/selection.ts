import { type FieldNode, type FragmentDefinitionNode, Kind, type SelectionSetNode } from "graphql";
import type { ContractField, FileField, JsonMember, NftField } from "../../nfts/nft-json.ts";

export type Fragments = Record<string, FragmentDefinitionNode>;

/** A field of a selection, by the name that it has in the answer. */
export interface Member {
  name: string;
  field: string;
  node: FieldNode;
}

const same = ["id", "chain", "tokenId", "standard", "owner", "supply", "creator", "mintedAt", "name", "description"];
const nftNames: Record<string, NftField> = {
  ...(Object.fromEntries(same.map((name) => [name, name])) as Record<string, NftField>),
  contractAddress: "contract",
  metadataUrl: "metadataUrl",
  metadata: "metadata",
  fileUrl: "fileUrl",
  animationUrl: "animationUrl",
  cachedFileUrl: "cachedFileUrl",
  cachedAnimationUrl: "cachedAnimationUrl",
  metadataUpdatedAt: "metadataUpdatedAt",
  __typename: "nftTypename",
};
const contractNames: Record<string, ContractField> = {
  ...Object.fromEntries(["id", "chain", "address", "standard", "name", "symbol", "description"].map((n) => [n, n])),
  thumbnailUrl: "thumbnailUrl",
  cachedThumbnailUrl: "cachedThumbnailUrl",
  bannerUrl: "bannerUrl",
  cachedBannerUrl: "cachedBannerUrl",
  __typename: "contractTypename",
  // Its text is put there by whoever reads the list.
  nfts: "listMark",
};
const fileNames: Record<string, FileField> = {
  width: "width",
  height: "height",
  sizeBytes: "sizeBytes",
  __typename: "fileTypename",
};

/** The members of a token's object; null: the selection is not for a plan. */
export function nftShape(
  set: SelectionSetNode | undefined,
  fragments: Fragments,
  ofAccount: boolean,
): JsonMember[] | null {
  const members = set && flatten(set, "Nft", fragments);
  if (!members) return null;
  const shape = members.map(({ name, field, node }): JsonMember | null => {
    if (field === "amount") return { name, field: ofAccount ? "amount" : "noAmount" };
    if (field === "contract") {
      const inner = contractMembersOf(node, fragments);
      if (inner?.some((member) => member.field === "listMark")) return null;
      return inner && { name, field: { group: "contract", members: inner } };
    }
    if (field === "fileInformation") {
      const inner = namedMembers(node, "FileInformation", fileNames, fragments);
      return inner && { name, field: { group: "fileInformation", members: inner } };
    }
    const known = nftNames[field];
    return known ? { name, field: known } : null;
  });
  const whole = shape.filter((member) => member !== null);
  return whole.length === shape.length ? whole : null;
}

/** The same of a contract's. */
export function contractMembersOf(node: FieldNode, fragments: Fragments): JsonMember<ContractField>[] | null {
  return namedMembers(node, "Contract", contractNames, fragments);
}

function namedMembers<F extends string>(
  node: FieldNode,
  type: string,
  names: Record<string, F>,
  fragments: Fragments,
): JsonMember<F>[] | null {
  const inner = node.selectionSet && flatten(node.selectionSet, type, fragments);
  const known = inner?.flatMap((member): JsonMember<F>[] => {
    const field = Object.hasOwn(names, member.field) ? names[member.field] : undefined;
    return field ? [{ name: member.name, field }] : [];
  });
  return inner && known?.length === inner.length ? known : null;
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
