import type pg from "pg";
import { type EventFilter, filterCondition, interestOf } from "./event-filter.ts";
import type { EventRow } from "./event-row.ts";

type Reader = Pick<pg.Pool, "query">;

/** Committed events that one statement numbers. */
const numberedAtOnce = 2_000;

/**
 * Numbers committed events. Any process may do it, at any time.
 *
 * @returns the last number.
 */
export async function numberEvents(db: Reader): Promise<bigint> {
  for (;;) {
    const { rows } = await db.query<{ head: bigint; more: boolean }>({
      name: "number_events",
      text: "SELECT head, more FROM service.number_events($1)",
      values: [numberedAtOnce],
    });
    const [row] = rows;
    if (!row?.more) return row?.head ?? 0n;
  }
}

/** Events after a number, in order. Those of accounts come without their content, so every caller may see them. */
export async function readAfter(db: Reader, after: bigint, most: number): Promise<EventRow[]> {
  const { rows } = await db.query<EventRow>({
    name: "events_after",
    text: "SELECT * FROM service.events_after($1, $2)",
    values: [String(after), most],
  });
  return rows;
}

/** Whole events, as far as the request's account may see them. */
export async function readWhole(db: Reader, sequences: readonly bigint[]): Promise<EventRow[]> {
  const { rows } = await db.query<EventRow>(
    "SELECT * FROM service.event WHERE sequence = ANY ($1::bigint[]) ORDER BY sequence",
    [sequences.map(String)],
  );
  return rows;
}

/** Matching events that one statement of `readPast` returns: the most in memory for a client that reads slowly. */
const givenAtOnce = 200;

/**
 * Events of a filter after one number, up to another, as far as the request's account may see them.
 *
 * @param scanned how many events, of any filter, the statement scans. `reached` is how far it came.
 */
export async function readPast(
  db: Reader,
  filter: EventFilter,
  { after, upto, scanned }: { after: bigint; upto: bigint; scanned: number },
): Promise<{ rows: EventRow[]; reached: bigint }> {
  const end = upto - after > BigInt(scanned) ? after + BigInt(scanned) : upto;
  const values: unknown[] = [String(after), String(end)];
  const condition = filterCondition(filter, values);
  const { rows } = await db.query<EventRow>(
    `SELECT e.* FROM service.event e WHERE e.sequence > $1 AND e.sequence <= $2 AND ${condition} ORDER BY e.sequence
     LIMIT ${givenAtOnce}`,
    values,
  );
  return { rows, reached: rows.length < givenAtOnce ? end : (rows.at(-1)?.sequence ?? end) };
}

/**
 * Where the kept events end, and from where on those of a filter are complete.
 *
 * @param chains all chains of this installation.
 * @returns `complete`: a client with an earlier cursor has missed events.
 */
export async function readExtent(db: Reader, filter: EventFilter, chains: readonly number[]) {
  const interests = interestOf(filter, chains).flatMap(({ chain, contracts }) =>
    (contracts.length > 0 ? contracts : [Buffer.alloc(0)]).map((contract) => ({ chain, contract })),
  );
  // Reads only one index row of each partition.
  const { rows } = await db.query<{ head: bigint; first: bigint | null; since: bigint | null; missing: boolean }>(
    `SELECT h.sequence AS head, (SELECT min(e.sequence) FROM service.event e) AS first,
       (SELECT max(service.events_since(i.chain, i.contract, $3)) FROM unnest($1::integer[], $2::bytea[]) AS i (chain, contract)) AS since,
       coalesce((SELECT bool_or(service.events_since(i.chain, i.contract, $3) IS NULL)
         FROM unnest($1::integer[], $2::bytea[]) AS i (chain, contract)), false) AS missing
     FROM service.event_head h`,
    [interests.map(({ chain }) => chain), interests.map(({ contract }) => contract), filter.finality],
  );
  const { head, first, since, missing } = rows[0] ?? { head: 0n, first: null, since: null, missing: false };
  // Numbers have no gaps: below the first kept one, all were dropped.
  const kept = first === null ? head : first - 1n;
  const asked = missing ? head : (since ?? 0n);
  return { head, complete: kept > asked ? kept : asked };
}

/** Requests that the movements for a filter are recorded from now on, for some time. */
export async function wantEvents(
  db: Reader,
  filter: EventFilter,
  chains: readonly number[],
  seconds: number,
): Promise<void> {
  for (const { chain, contracts } of interestOf(filter, chains))
    await db.query("SELECT service.want_events($1, $2::bytea[], $3, $4)", [chain, contracts, filter.finality, seconds]);
}
