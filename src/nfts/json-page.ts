import { sealCursor } from "../db/cursor.ts";
import { packPosition, positionLength } from "../db/position.ts";
import { JsonText } from "../json/json-text.ts";
import type { Services } from "../services.ts";
import type { Beside } from "./compose.ts";
import { factsOf, type Layout } from "./item.ts";
import type { ItemBytes } from "./item-bytes.ts";
import { boundsOf, type PageRequest, refuseTooDeep } from "./page.ts";
import { type ListKey, type PageList, selectPages } from "./select-page.ts";
import type { ContractMember, NftShape } from "./shape.ts";
import { contractWriter, itemsWriter, needsOfShape, nftWriter } from "./writers.ts";

/** A page whose items are one JSON text. Cursors are signed when they are asked for. */
export interface JsonPage {
  /** The items, joined by commas; empty when there are none. */
  items: JsonText;
  hasNext: boolean;
  hasPrevious: boolean;
  total: bigint | null;
  startCursor: () => string | null;
  endCursor: () => string | null;
  continuation: () => string | null;
  /** The items one by one with their cursors, where they were asked for so. */
  parts: { item: string; cursor: string }[] | null;
  /** The contract's record, where the list is of one contract and it was asked for. */
  contract: JsonText | null;
}

export interface JsonPageRequest {
  /** The chain's name as the request spelled it. */
  chain: string;
  page: PageRequest;
  shape: NftShape;
  /** Items one by one, with their cursors. */
  split?: boolean;
  contractMembers?: readonly ContractMember[];
  /** The contract's record with whole texts, as in its details. */
  wholeContract?: boolean;
}

/** Reads a page forwards; null: what the list is about is not known to the index. @param name of the list, for its cursors. */
export async function readJsonPage(
  services: Services,
  name: string,
  list: PageList,
  key: ListKey,
  request: JsonPageRequest,
): Promise<JsonPage | null> {
  const { keyPepper } = services.config;
  const { page, split } = request;
  const bounds = boundsOf(page, keyPepper, name, positionLength(list.position));
  const [selected] = await selectPages(services, list, [key], bounds, needsOfShape(request.shape), "pipelined");
  if (!selected?.known) return null;
  const { total } = selected;
  refuseTooDeep(bounds, page, total);
  const { bytes, layout } = selected;
  const found = bytes?.count ?? 0;
  const more = found > page.size;
  const count = Math.min(found, page.size);
  const sealed = (place: readonly string[]) => sealCursor(keyPepper, name, packPosition(list.position, place));
  const placeOf = (at: number) => {
    if (!bytes || count === 0) return null;
    bytes.open(at);
    return list.place((part) => bytes.text(part), layout);
  };
  const [first, last] = [placeOf(0), placeOf(count - 1)];
  const facts = factsOf(services.config, request.chain, true);
  const beside = { facts, contract: selected.contract };
  const record = request.wholeContract ? selected.whole : selected.own;
  const read: JsonPage = {
    items:
      split || !bytes || count === 0
        ? new JsonText()
        : itemsWriter(request.shape, layout)({ items: bytes, contracts: selected.contracts, facts }, count),
    parts: split ? listItems(request, layout, bytes, count, beside, (at) => sealed(placeOf(at) ?? [])) : null,
    hasNext: more,
    hasPrevious: bounds.offset > 0 || bounds.position !== null,
    total,
    startCursor: () => (first ? sealed(first) : null),
    endCursor: () => (last ? sealed(last) : null),
    continuation: () => (more && last ? sealed(last) : null),
    contract:
      request.contractMembers && record ? bytesText(contractWriter(request.contractMembers)(record, beside)) : null,
  };
  selected.release();
  return read;
}

function listItems(
  request: JsonPageRequest,
  layout: Layout,
  bytes: ItemBytes | null,
  count: number,
  beside: Beside,
  seal: (at: number) => string,
): { item: string; cursor: string }[] {
  const write = nftWriter(request.shape, layout);
  if (!bytes) return [];
  return Array.from({ length: count }, (_, at) => {
    return { item: bytesOf(write(bytes.item(at), beside)).toString(), cursor: seal(at) };
  });
}

/** JSON text from a text with one character for each byte. */
export function bytesText(text: string): JsonText {
  return text === "" ? new JsonText() : new JsonText([bytesOf(text)]);
}

const bytesOf = (text: string) => Buffer.from(text, "latin1");
