import type { WireValue } from "../db/pipeline/wire.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import type { RawRow } from "../db/pool/raw-row.ts";
import { type PositionShape, unpackPosition } from "../db/position.ts";
import type { Standard } from "../db/tables/nft.ts";
import type { Services } from "../services.ts";
import { type Layout, layoutOf } from "./item.ts";
import { ContractBytes, ItemBytes } from "./item-bytes.ts";
import { amongSql, contractsSql, type ItemSources, itemSql, liveNames, type Needs } from "./item-sql.ts";
import type { PageBounds } from "./page.ts";
import { lightOffset } from "./read-for-each.ts";
import { readRow, readRows } from "./read-rendered.ts";
import { type Stale, sqlItemMark } from "./rendered.ts";

/** A token list: how its keys are scanned in order, and where its tokens' values come from. */
export interface PageList {
  chainId: number;
  position: PositionShape;
  /** Number of parts of an item's position; 0 if its key is the position. */
  positionParts: number;
  /** The position of an item. @param part gives a part of the position by its number. */
  place: (part: (at: number) => string, layout: Layout) => readonly string[];
  /** The SQL parameters of a position. */
  values: (parts: bigint[]) => WireValue[];
  /** Distinguishes all SQL texts that `sql` can return. */
  variant: string;
  /** @param direction of the scan. @param keysOnly rows may be skipped by number, so the scan should read only keys. */
  sql: (refs: Refs, direction: "forward" | "backward", keysOnly: boolean, stale: Stale) => ListSql;
  /** A further condition on `k`: SQL pieces with a value after each but the last; `keyContract`: the key's contract. */
  filter?: { texts: readonly string[]; values: readonly (WireValue | typeof keyContract)[] };
  /** The list is of one contract, its key's `contract`, and its frame has the record. */
  ofContract?: boolean;
  /** A page may touch many more rows than it returns; see `readHeavy`. */
  heavy?: boolean;
}

/** A placeholder for the contract of a list's key. */
export const keyContract = Symbol("contract");

/** A key's value in the statement's SQL: a parameter, or a column of several keys. */
type Refs = Readonly<Record<string, string>>;

export interface ListSql {
  /** SELECT of `contract, token_id` and what `sources` and the order need, up to the WHERE conditions; alias `k`. */
  keys: string;
  /** The condition for rows after a position, whose parameters start at `$first`. */
  after: (first: number) => string;
  order: string;
  /** Joined to a key, alias `k`, if its own row lacks some values. */
  join: string;
  sources: ItemSources;
  /** SELECT of `total`, for a list of one contract also `standard, record, whole`; no row: not in the index. */
  frame: string;
}

export type ListKey = Readonly<Record<string, Buffer>>;

export interface PageNeeds extends Needs {
  /** Whether each item's contract is shown. */
  contract: boolean;
}

/** What the statement returned for one key, in scan order. */
export interface Selected {
  /** Whether the index knows the subject of the list. */
  known: boolean;
  total: bigint | null;
  /** Up to one more than the page size; null: none. */
  items: ItemBytes | null;
  layout: Layout;
  /** The items' contracts, if requested. */
  contracts: ContractBytes;
  /** The contract of a list of one contract. */
  own: ContractBytes | null;
  /** That contract with the texts that lists leave out. */
  whole: ContractBytes | null;
  /** Releases the memory of all of these; nothing may read them afterwards. */
  release: () => void;
}

const columns = ["known", "total", "items", "multi", "records", "standard", "record", "whole"] as const;

/**
 * The single statement behind all token pages: one row per key, with the page's items as one text (`itemSql`).
 *
 * @param run `pipelined`: over a pipelined connection, for one key.
 */
export async function selectPages(
  services: Services,
  list: PageList,
  keys: readonly ListKey[],
  bounds: PageBounds,
  needs: PageNeeds,
  run: "pipelined" | "pool",
): Promise<Selected[]> {
  const [first] = keys;
  if (!first) return [];
  const names = Object.keys(first);
  const single = keys.length === 1;
  const parameters: unknown[] = names.map((name) => (single ? first[name] : keys.map((key) => key[name])));
  const positionAt = parameters.length + 1;
  if (bounds.position) parameters.push(...list.values(unpackPosition(list.position, bounds.position)));
  const filterAt = parameters.length + 1;
  const { texts = [], values = [] } = list.filter ?? {};
  parameters.push(...values.filter((value) => value !== keyContract));
  const write = (stale: Stale) => {
    const refs = Object.fromEntries(names.map((name, at) => [name, single ? `$${at + 1}` : `each_key.${name}`]));
    let at = filterAt;
    const valueText = (value: unknown) => (value === keyContract ? refs["contract"] : `$${at++}`);
    const condition = texts.map((piece, index) => (index === 0 ? piece : `${valueText(values[index - 1])}${piece}`));
    const text = statementOf(list, refs, bounds, needs, positionAt, condition.join(""), stale);
    return single ? text : forEachKey(names, text);
  };
  // Page numbers vary too much to cache their SQL; pages after a cursor share one text.
  const once = bounds.limit === 0 || bounds.offset > 0;
  const variant = [
    ...[list.variant, single, bounds.limit, bounds.position !== null, bounds.backward, texts.join("$")],
    shownBy(needs),
  ].join("|");
  const heavy = list.heavy === true || bounds.offset > lightOffset;
  const text = (stale: Stale) => (once ? write(stale) : cachedStatement(`${variant}|${stale}`, [], () => write(stale)));
  const read = { text, values: parameters, heavy, once };
  const rows = run === "pipelined" ? [await readRow(services, read)] : await readRows(services, read, columns);
  const layout = layoutOf(needs, list.positionParts);
  return keys.map((_, at) => selectedOf(rows[at] ?? null, layout, bounds.limit));
}

const shown = new WeakMap<PageNeeds, string>();

/** A cache key of what a read shows. */
export function shownBy(needs: PageNeeds): string {
  const known = shown.get(needs);
  if (known !== undefined) return known;
  const live = liveNames.filter((name) => needs.live.has(name));
  const text = [needs.contract, needs.document, needs.stored, live.join()].join("|");
  shown.set(needs, text);
  return text;
}

function selectedOf(row: RawRow | null, layout: Layout, most: number): Selected {
  const bytes = (name: (typeof columns)[number]) => row?.bytes(columns.indexOf(name)) ?? null;
  const [total, items, record, whole] = [bytes("total"), bytes("items"), bytes("record"), bytes("whole")];
  const standard = bytes("standard")?.toString() as Standard | undefined;
  const own = standard ? ContractBytes.one(standard, record) : null;
  return {
    ...{ known: bytes("known") !== null, total: total && BigInt(total.toString()), layout, own },
    items: items && new ItemBytes(items, layout.parts, most),
    contracts: own ?? new ContractBytes(bytes("multi"), bytes("records"), most),
    whole: standard && whole ? ContractBytes.one(standard, whole) : own,
    release: () => row?.release(),
  };
}

function statementOf(
  list: PageList,
  refs: Refs,
  bounds: PageBounds,
  needs: PageNeeds,
  positionAt: number,
  condition: string,
  stale: Stale,
): string {
  const { chainId } = list;
  const { limit, offset } = bounds;
  const sql = list.sql(refs, bounds.backward ? "backward" : "forward", offset > 0, stale);
  const after = bounds.position ? ` AND ${sql.after(positionAt)}` : "";
  const filter = condition === "" ? "" : ` AND ${condition}`;
  const [among, contracts] =
    needs.contract && !list.ofContract
      ? [`, ${amongSql}`, contractsSql(chainId, stale)]
      : ["", "NULL AS multi, NULL AS records"];
  const skipped = offset > 0 ? ` OFFSET ${offset}` : "";
  return `WITH keys AS MATERIALIZED (${sql.keys}${filter}${after} ORDER BY ${sql.order} LIMIT ${limit}${skipped})${among}
    SELECT true::text AS known, frame.total::text AS total, (SELECT string_agg(item, ${sqlItemMark}) FROM (
      SELECT ${itemSql(needs, sql.sources, false, stale)} AS item FROM keys k ${sql.join}
      LEFT JOIN service.token_metadata m
        ON m.chain_id = ${chainId} AND m.contract = k.contract AND m.token_id = k.token_id
      ORDER BY ${sql.order}) item) AS items,
    /*item*/${contracts}/*end*/, frame.standard, frame.record, frame.whole
    FROM (${sql.frame}) frame`;
}

function forEachKey(names: readonly string[], statement: string): string {
  const arrays = names.map((_, at) => `$${at + 1}::bytea[]`).join(", ");
  return `SELECT page.* FROM unnest(${arrays}) WITH ORDINALITY AS each_key (${names.join(", ")}, each_key)
    LEFT JOIN LATERAL (${statement}) page ON true ORDER BY each_key.each_key`;
}
