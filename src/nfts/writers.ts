import { composeContract, composeNft, needsOf } from "./compose.ts";
import { composeItems, type WriteItems } from "./compose-bytes.ts";
import type { Layout } from "./item.ts";
import type { PageNeeds } from "./select-page.ts";
import type { ContractMember, NftShape } from "./shape.ts";

/*
 * What shapes come to, made once: an API keeps each of its shapes as one object, and the same few come with each request.
 */

const needs = new WeakMap<NftShape, PageNeeds>();
/** By shape and layout. */
type Writers<W> = WeakMap<NftShape, WeakMap<Layout, W>>;
const nftWriters: Writers<ReturnType<typeof composeNft>> = new WeakMap();
const itemWriters: Writers<WriteItems> = new WeakMap();
const contractWriters = new WeakMap<readonly ContractMember[], ReturnType<typeof composeContract>>();

/** See `needsOf`. */
export function needsOfShape(shape: NftShape): PageNeeds {
  return kept(needs, shape, () => needsOf(shape));
}

/** See `composeNft`. */
export function nftWriter(shape: NftShape, layout: Layout): ReturnType<typeof composeNft> {
  return writerOf(nftWriters, shape, layout, composeNft);
}

/** See `composeItems`. */
export function itemsWriter(shape: NftShape, layout: Layout): WriteItems {
  return writerOf(itemWriters, shape, layout, composeItems);
}

function writerOf<W>(
  writers: Writers<W>,
  shape: NftShape,
  layout: Layout,
  compose: (shape: NftShape, layout: Layout) => W,
): W {
  const ofShape = kept(writers, shape, () => new WeakMap<Layout, W>());
  return kept(ofShape, layout, () => compose(shape, layout));
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
