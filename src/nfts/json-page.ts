import { sealCursor } from "../db/cursor.ts";
import type { WireValue } from "../db/pipeline/wire.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import { type PositionShape, packPosition, unpackPosition } from "../db/position.ts";
import { JsonText } from "../json/json-text.ts";
import type { Services } from "../services.ts";
import { lightOffset } from "./heavy-read.ts";
import {
  type ContractField,
  contractJson,
  type JsonMember,
  type NftShape,
  tokenJson,
  wantsContract,
} from "./nft-json.ts";
import { cachedBase } from "./nft-record.ts";
import { boundsOf, type PageBounds, type PageRequest, refuseTooDeep } from "./page.ts";

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

/** One list: how its keys are read in order. */
export interface JsonList {
  /** Names the list for its cursors. */
  name: string;
  position: PositionShape;
  /** Parameters of a position. */
  values: (parts: bigint[]) => WireValue[];
  parameters: readonly WireValue[];
  /** Tells apart all texts that `sql` can give. */
  variant: string;
  sql: () => JsonListSql;
  /** Its page may touch many more rows than it has; see `readHeavy`. */
  heavy?: boolean;
}

export interface JsonListSql {
  /** Condition on the parameters of a position, from `$first` on. */
  after: (first: number) => string;
  /** SELECT of `contract, token_id, amount` and the position's text, up to WHERE conditions; alias `k`. */
  keys: string;
  /** Text of a key's position: parts joined by colons, addresses and hashes as `0x…`. */
  place: string;
  order: string;
  /** SELECT of `total` and, for one contract, its record; no row: nothing is known of what was asked for. */
  frame: string;
}

export interface JsonPageRequest {
  chainId: number;
  /** The chain's name as the request spelled it. */
  chain: string;
  page: PageRequest;
  shape: NftShape;
  /** Null for a token whose contract is unknown (GraphQL) instead of an empty record. */
  strictContract: boolean;
  /** Items one by one, with their cursors. */
  split?: boolean;
  contractMembers?: readonly JsonMember<ContractField>[];
  /** The contract's record with whole texts, as in its details. */
  wholeContract?: boolean;
}

/** Columns of the statement, in its order. */
const column = { total: 0, contract: 1, items: 2, found: 3, first: 4, last: 5, places: 6 };

/** Reads a page forwards; null: what the list is about is not known to the index. */
export async function readJsonPage(
  services: Services,
  list: JsonList,
  request: JsonPageRequest,
): Promise<JsonPage | null> {
  const { keyPepper } = services.config;
  const size = request.page.size;
  const length = list.position.reduce((sum, width) => sum + width, 0);
  const bounds = boundsOf(request.page, keyPepper, list.name, length);
  const parameters = [...list.parameters];
  if (bounds.position) parameters.push(...list.values(unpackPosition(list.position, bounds.position)));
  const variant = `${list.variant}|${request.chain}|${size}|${bounds.position !== null}|${request.split === true}|${request.strictContract}`;
  const write = () => statementOf(services, list, request, bounds);
  // Page numbers are many; pages behind a cursor share one text.
  const once = bounds.limit === 0 || bounds.offset > 0;
  const text = once
    ? write()
    : cachedStatement(variant, [services.config, request.shape, request.contractMembers], write);
  const heavy = list.heavy === true || bounds.offset > lightOffset;
  const row = await (heavy
    ? services.index.pool.heavyFirst(text, parameters)
    : services.reads.first(text, parameters, once));
  if (!row) return null;
  const counted = row.text(column.total);
  const total = counted === null ? null : BigInt(counted);
  refuseTooDeep(bounds, request.page, total);
  const more = Number(row.text(column.found) ?? 0) > size;
  const seal = (place: string | null) =>
    place === null ? null : sealCursor(keyPepper, list.name, packPosition(list.position, place.split(":")));
  const items = row.json(column.items) ?? new JsonText();
  return {
    items,
    parts: request.split ? partsOf(items, row.text(column.places), seal) : null,
    hasNext: more,
    hasPrevious: bounds.offset > 0 || bounds.position !== null,
    total,
    startCursor: () => seal(row.text(column.first)),
    endCursor: () => seal(row.text(column.last)),
    continuation: () => (more ? seal(row.text(column.last)) : null),
    contract: row.json(column.contract),
  };
}

function partsOf(items: JsonText, places: string | null, seal: (place: string) => string | null) {
  if (!places) return [];
  const at = places.split(",");
  return items
    .toString()
    .split(separator)
    .map((item, index) => ({ item, cursor: seal(at[index] ?? "") ?? "" }));
}

/** Between items that are wanted one by one: no JSON text has this character in it. */
const separator = "\u0001";

function statementOf(services: Services, list: JsonList, request: JsonPageRequest, bounds: PageBounds): string {
  const { chainId, page } = request;
  const { size } = page;
  const sql = list.sql();
  const facts = { chain: request.chain, cachedBase: cachedBase(services.config), bounded: true };
  const keys = bounds.position ? `${sql.keys} AND ${sql.after(list.parameters.length + 1)}` : sql.keys;
  const contract = wantsContract(request.shape)
    ? `LEFT JOIN nft.contracts c ON c.chain_id = ${chainId} AND c.address = k.contract
       LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${chainId} AND cm.address = k.contract`
    : "";
  const recordFacts = { ...facts, bounded: request.wholeContract !== true };
  const record = request.contractMembers ? `, ${contractJson(request.contractMembers, recordFacts)} AS contract` : "";
  const places = request.split ? `string_agg(at, ',' ORDER BY place) FILTER (WHERE place <= ${size})` : "NULL";
  return `SELECT frame.total, ${record === "" ? "NULL" : "frame.contract"} AS contract, page.* FROM (${sql.frame.replace("/*record*/", () => record)}) frame
    LEFT JOIN (
      SELECT string_agg(item, '${request.split ? separator : ","}' ORDER BY place) FILTER (WHERE place <= ${size}) AS items, count(*) AS found,
        max(at) FILTER (WHERE place = 1) AS first,
        (array_agg(at ORDER BY place DESC) FILTER (WHERE place <= ${size}))[1] AS last, ${places} AS places
      FROM (
        SELECT k.place, k.at, ${tokenJson(request.shape, facts, request.strictContract)} AS item
        FROM (SELECT *, row_number() OVER () AS place, ${sql.place} AS at
          FROM (${keys} ORDER BY ${sql.order} LIMIT ${bounds.limit}${bounds.offset > 0 ? ` OFFSET ${bounds.offset}` : ""}) k) k
        JOIN nft.tokens t ON t.chain_id = ${chainId} AND t.contract = k.contract AND t.token_id = k.token_id
        LEFT JOIN service.token_metadata m
          ON m.chain_id = ${chainId} AND m.contract = k.contract AND m.token_id = k.token_id
        ${contract}) item) page ON true`;
}
