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
  const { bytes, layout } = selected;
  const found = bytes?.count ?? 0;
  const more = found > page.size;
  const count = Math.min(found, page.size);
  const seal = (at: number) =>
    bytes && count > 0 ? sealCursor(keyPepper, name, packPosition(list.position, list.place(bytes.item(at)))) : null;
  const beside = { facts: factsOf(services.config, request.chain, true), contract: selected.contract };
  const whole = request.wholeContract ? selected.whole : selected.contract("");
  return {
    items: split || !bytes ? new JsonText() : writeItems(request, layout, bytes, count, beside),
    parts: split ? listItems(request, layout, bytes, count, beside, seal) : null,
    hasNext: more,
    hasPrevious: bounds.offset > 0 || bounds.position !== null,
    total,
    startCursor: () => seal(0),
    endCursor: () => seal(count - 1),
    continuation: () => (more ? seal(count - 1) : null),
    contract:
      request.contractMembers && whole ? bytesText(contractWriter(request.contractMembers)(whole, beside)) : null,
  };
}

function writeItems(
  request: JsonPageRequest,
  layout: Layout,
  bytes: ItemBytes,
  count: number,
  beside: Beside,
): JsonText {
  if (count === 0) return new JsonText();
  return new JsonText([itemsWriter(request.shape, layout, request.strictContract)(bytes, count, beside)]);
}

function listItems(
  request: JsonPageRequest,
  layout: Layout,
  bytes: ItemBytes | null,
  count: number,
  beside: Beside,
  seal: (at: number) => string | null,
): { item: string; cursor: string }[] {
  const write = nftWriter(request.shape, layout, request.strictContract);
  return Array.from({ length: count }, (_, at) => ({
    item: bytes ? bytesOf(write(bytes.item(at), beside)).toString() : "",
    cursor: seal(at) ?? "",
  }));
}

/** JSON text from a text with one character for each byte. */
export function bytesText(text: string): JsonText {
  return text === "" ? new JsonText() : new JsonText([bytesOf(text)]);
}

const bytesOf = (text: string) => Buffer.from(text, "latin1");
