import { composeContract, composeItems, composeNft, needsOf, type WriteItems } from "./compose.ts";
import type { Layout } from "./item.ts";
import type { PageNeeds } from "./select-page.ts";
import type { ContractMember, NftShape } from "./shape.ts";

/*
 * What shapes come to, made once: an API keeps each of its shapes as one object, and the same few come with each request.
 */

const needs = new WeakMap<NftShape, PageNeeds>();
const nftWriters = new WeakMap<NftShape, Map<string, ReturnType<typeof composeNft>>>();
const itemWriters = new WeakMap<NftShape, Map<string, WriteItems>>();
const contractWriters = new WeakMap<readonly ContractMember[], ReturnType<typeof composeContract>>();

/** See `needsOf`. */
export function needsOfShape(shape: NftShape): PageNeeds {
  return kept(needs, shape, () => needsOf(shape));
}

/** See `composeNft`. */
export function nftWriter(shape: NftShape, layout: Layout, strictContract: boolean): ReturnType<typeof composeNft> {
  const writers = kept(nftWriters, shape, () => new Map());
  return kept(writers, `${strictContract}|${layout.name}`, () => composeNft(shape, layout, strictContract));
}

/** See `composeItems`. */
export function itemsWriter(shape: NftShape, layout: Layout, strictContract: boolean): WriteItems {
  const writers = kept(itemWriters, shape, () => new Map());
  return kept(writers, `${strictContract}|${layout.name}`, () => composeItems(shape, layout, strictContract));
}

/** See `composeContract`. */
export function contractWriter(members: readonly ContractMember[]): ReturnType<typeof composeContract> {
  return kept(contractWriters, members, () => composeContract(members));
}

function kept<K, V>(known: { get(key: K): V | undefined; set(key: K, value: V): unknown }, key: K, make: () => V): V {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}
