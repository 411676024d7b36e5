import { openCursor } from "../db/cursor.ts";
import { ServiceError } from "../errors/errors.ts";

/** Selects a page of a list, by cursor or by number. Without either it is the first one. */
export interface PageRequest {
  /** 1 to `maxPageSize`. */
  size: number;
  /** Reads the items after this cursor. Takes precedence over `number`. */
  after?: string | undefined;
  /** Reads the last items before this cursor, in the list's order. */
  before?: string | undefined;
  /** Without a cursor: reads the last items of the list. */
  fromEnd?: boolean | undefined;
  /** Starts at 1. A deep page costs more than a cursor, so it is bounded by `maxOffset`. */
  number?: number | undefined;
}

/** A page with its cursors; `continuation` is null on the last page. */
export interface Page<T> {
  items: { node: T; cursor: string }[];
  hasNext: boolean;
  hasPrevious: boolean;
  continuation: string | null;
}

/** A page request in the terms of a query. */
export interface PageBounds {
  position: Buffer | null;
  backward: boolean;
  /** One more than requested, to see whether there is a further page. */
  limit: number;
  offset: number;
  /** Too deep to be read by number; the query then only counts. */
  tooDeep: boolean;
}

export const maxPageSize = 100;
const maxOffset = 1_000_000;

/**
 * Checks a page request.
 *
 * @param list and `length`: see `openCursor`.
 * @param largest page size of this list.
 * @throws ServiceError `value_error` for a size or number out of range, `invalid_continuation_string`.
 */
export function boundsOf(
  page: PageRequest,
  secret: string,
  list: string,
  length: number,
  largest: number = maxPageSize,
): PageBounds {
  const { size, after, before, number = 1 } = page;
  if (!Number.isInteger(size) || size < 1 || size > largest) {
    throw new ServiceError("value_error", `the page size must be 1 to ${largest}`, { field: "page_size" });
  }
  if (!Number.isInteger(number) || number < 1) {
    throw new ServiceError("value_error", "the page number must be 1 or more", { field: "page_number" });
  }
  const cursor = after ?? before;
  const offset = cursor === undefined ? (number - 1) * size : 0;
  const tooDeep = offset > maxOffset;
  return {
    position: cursor === undefined ? null : openCursor(secret, list, cursor, length),
    backward: after === undefined && (before !== undefined || page.fromEnd === true),
    limit: tooDeep ? 0 : size + 1,
    offset: tooDeep ? 0 : offset,
    tooDeep,
  };
}

/** A page past the end is empty, whatever its number; a number that is too deep but within the list is refused. */
export function refuseTooDeep(bounds: PageBounds, page: PageRequest, total: bigint | null): void {
  if (!bounds.tooDeep) return;
  if (total !== null && BigInt(((page.number ?? 1) - 1) * page.size) >= total) return;
  throw new ServiceError("value_error", `page numbers reach ${maxOffset} items; read on with the continuation`, {
    field: "page_number",
  });
}

/** Turns the rows of a query, up to one more than requested and in query order, into a page in list order. */
export function pageOf<R, T>(
  rows: readonly R[],
  bounds: PageBounds,
  toItem: (row: R) => { node: T; cursor: string },
): Page<T> {
  const more = rows.length === bounds.limit && bounds.limit > 0;
  const kept = more ? rows.slice(0, -1) : [...rows];
  const items = (bounds.backward ? kept.reverse() : kept).map(toItem);
  const startsInside = bounds.offset > 0 || bounds.position !== null;
  const hasNext = bounds.backward ? bounds.position !== null : more;
  return {
    items,
    hasNext,
    hasPrevious: bounds.backward ? more : startsInside,
    continuation: hasNext ? (items.at(-1)?.cursor ?? null) : null,
  };
}
