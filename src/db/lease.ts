import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Database } from "./database.ts";

/**
 * A table whose rows are work for any number of workers. Each row has a time at which it is due. A claim moves
 * that time to the end of the lease: a worker that dies needs no successor to notice it, the row is due again by itself.
 * Columns are named without the table.
 */
export interface WorkQueue {
  table: keyof Database & string;
  /** Columns that have one value for all rows that are claimed together, with that value. */
  scope?: Readonly<Record<string, unknown>>;
  /** Columns that name a row within the scope. */
  key: readonly string[];
  /** Which rows are work at all; all of them unless given. */
  open?: RawBuilder<SqlBool>;
  due: string;
  /** Counts the claims of a row. */
  attempts?: string;
  /** Whether `lease_id` and `lease_until` name the claim. Where they do not, the number of attempts tells it from a later one. */
  named?: boolean;
}

/** One claimed row. */
export interface HeldRow {
  /** In the order of the queue's key. */
  key: readonly unknown[];
  /** The claim's `lease_id`, or the row's attempts after it. */
  lease: string | number;
}

/** What a finished row has in a queue with named claims. */
export const noLease = { lease_id: null, lease_until: null } as const;

/**
 * Rows that are due, those that wait longest first. Rows that another claim is taking at this moment are passed over.
 *
 * @param more narrows the rows further; the queue's table is `q` there.
 */
export function dueRows(
  queue: WorkQueue,
  limit: number | RawBuilder<number>,
  more: RawBuilder<SqlBool> = sql<SqlBool>`TRUE`,
): RawBuilder<unknown> {
  const due = sql.ref(`q.${queue.due}`);
  const columns = sql.join(queue.key.map((column) => sql.ref(`q.${column}`)));
  return sql`SELECT ${columns} FROM ${sql.table(queue.table)} AS q
    WHERE ${inScope(queue, "q.")} AND ${more} AND ${due} <= clock_timestamp()
    ORDER BY ${due} LIMIT ${limit} FOR UPDATE SKIP LOCKED`;
}

/**
 * The statement that claims rows; alone or in a `WITH`. The queue's table is `m` in `seconds` and `returning`.
 *
 * @param due made by `dueRows`, with the columns of the key.
 * @param lease its seconds, and its id where claims of the queue are named.
 */
export function claimRows<Row>(
  queue: WorkQueue,
  due: RawBuilder<unknown>,
  lease: { seconds: number | RawBuilder<unknown>; id?: string },
  returning: RawBuilder<unknown>,
): RawBuilder<Row> {
  const end = inSeconds(lease.seconds);
  const { attempts } = queue;
  const changes = [
    sql`${sql.ref(queue.due)} = ${end}`,
    ...(attempts === undefined ? [] : [sql`${sql.ref(attempts)} = ${sql.ref(`m.${attempts}`)} + 1`]),
    ...(queue.named ? [sql`lease_id = ${lease.id}, lease_until = ${end}`] : []),
  ];
  const same = queue.key.map((column) => sql`AND ${sql.ref(`m.${column}`)} = ${sql.ref(`due.${column}`)}`);
  // Materialised, since a join may run a subquery once per row: each run would pass over what the statement has updated
  // so far and take the next, so that more rows were claimed than the limit allows.
  return sql<Row>`WITH due AS MATERIALIZED (${due})
    UPDATE ${sql.table(queue.table)} AS m SET ${sql.join(changes)}
    FROM due WHERE ${inScope(queue, "m.")} ${sql.join(same, sql` `)}
    RETURNING ${returning}`;
}

/** Whether a row is still this claim's: a later claim may have taken it when the lease was over. */
export function isHeld(queue: WorkQueue, { key, lease }: HeldRow): RawBuilder<SqlBool> {
  const same = queue.key.map((column, index) => sql`AND ${sql.ref(column)} = ${key[index]}`);
  const fence = sql.ref(queue.named ? "lease_id" : (queue.attempts ?? ""));
  return sql<SqlBool>`${inScope(queue, "")} ${sql.join(same, sql` `)} AND ${fence} = ${lease}`;
}

/** Lets a claim that is still held last longer, from now on. */
export async function renewLease(db: Kysely<Database>, queue: WorkQueue, row: HeldRow, seconds: number): Promise<void> {
  const end = inSeconds(seconds);
  const until = queue.named ? sql`, lease_until = ${end}` : sql``;
  await sql`UPDATE ${sql.table(queue.table)} SET ${sql.ref(queue.due)} = ${end}${until} WHERE ${isHeld(queue, row)}`.execute(
    db,
  );
}

/** A moment by the database's clock, which all workers share. */
export function inSeconds(seconds: number | RawBuilder<unknown>): RawBuilder<Date> {
  return sql<Date>`clock_timestamp() + ${seconds} * interval '1 second'`;
}

function inScope({ scope = {}, open }: WorkQueue, table: "" | "q." | "m."): RawBuilder<SqlBool> {
  const parts = Object.entries(scope).map(([column, value]) => sql`${sql.ref(table + column)} = ${value}`);
  // Unqualified: no claim joins another table with such a column before the rows are chosen.
  if (open && table !== "m.") parts.push(open);
  return sql<SqlBool>`${parts.length === 0 ? sql`TRUE` : sql.join(parts, sql` AND `)}`;
}
