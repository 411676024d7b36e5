import { sealCursor } from "../db/cursor.ts";
import { packPosition, positionLength } from "../db/position.ts";
import { JsonText } from "../json/json-text.ts";
import type { Services } from "../services.ts";
import { factsOf, type Item } from "./item.ts";
import { boundsOf, type PageRequest, refuseTooDeep } from "./page.ts";
import { type ListKey, type PageList, selectPages } from "./select-page.ts";
import type { ContractMember, NftShape } from "./shape.ts";
import { contractWriter, needsOfShape, nftWriter } from "./writers.ts";

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
  /** Null for a token whose contract is unknown (GraphQL) instead of an empty record. */
  strictContract: boolean;
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
  const more = selected.items.length > page.size;
  const items = more ? selected.items.slice(0, page.size) : selected.items;
  const seal = (item: Item | undefined) =>
    item === undefined ? null : sealCursor(keyPepper, name, packPosition(list.position, list.place(item)));
  const beside = { facts: factsOf(services.config, request.chain, true), contract: selected.contract };
  const write = nftWriter(request.shape, selected.layout, request.strictContract);
  const texts = items.map((item) => write(item, beside));
  const whole = request.wholeContract ? selected.whole : selected.contract("");
  return {
    items: split ? new JsonText() : bytesList(texts),
    parts: split
      ? items.map((item, at) => ({ item: bytesOf(texts[at] ?? "").toString(), cursor: seal(item) ?? "" }))
      : null,
    hasNext: more,
    hasPrevious: bounds.offset > 0 || bounds.position !== null,
    total,
    startCursor: () => seal(items[0]),
    endCursor: () => seal(items.at(-1)),
    continuation: () => (more ? seal(items.at(-1)) : null),
    contract:
      request.contractMembers && whole ? bytesText(contractWriter(request.contractMembers)(whole, beside)) : null,
  };
}

/** Texts with one character for each byte, joined by commas: each goes to its place, none is put together before. */
function bytesList(texts: readonly string[]): JsonText {
  if (texts.length === 0) return new JsonText();
  let length = texts.length - 1;
  for (const text of texts) length += text.length;
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const text of texts) {
    if (at > 0) bytes[at++] = 0x2c;
    at += bytes.write(text, at, "latin1");
  }
  return new JsonText([bytes]);
}

/** JSON text from a text with one character for each byte. */
export function bytesText(text: string): JsonText {
  return text === "" ? new JsonText() : new JsonText([bytesOf(text)]);
}

const bytesOf = (text: string) => Buffer.from(text, "latin1");
