import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Database } from "./database.ts";

/**
 * A table whose rows are jobs for any number of workers. Each row has a time at which it is due. A claim moves that
 * time to the end of the lease, so when a worker dies, nobody has to notice: the row becomes due again. Column names
 * come without the table's name.
 */
export interface WorkQueue {
  table: keyof Database & string;
  /** Columns that have one value in all rows that are claimed in one statement, with that value. */
  scope?: Readonly<Record<string, unknown>>;
  /** Columns that identify a row within the scope. */
  key: readonly string[];
  /** Condition for a row to be a job at all; all rows unless given. */
  open?: RawBuilder<SqlBool>;
  due: string;
  /** Counts the claims of a row. */
  attempts?: string;
  /** Whether `lease_id` and `lease_until` identify the claim; otherwise the number of attempts does. */
  named?: boolean;
}

/** One claimed row. */
export interface HeldRow {
  /** In the order of the queue's key. */
  key: readonly unknown[];
  /** The claim's `lease_id`, or the row's attempts after it. */
  lease: string | number;
}

/** The lease columns of a finished row, in a queue with named claims. */
export const noLease = { lease_id: null, lease_until: null } as const;

/**
 * Rows that are due, longest-waiting first. Rows that another claim is taking at this moment are skipped.
 *
 * @param more narrows the rows further; refers to the queue's table as `q`.
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
 * The statement that claims rows, alone or in a `WITH`. `seconds` and `returning` refer to the queue's table as `m`.
 *
 * @param due made by `dueRows`, with the columns of the key.
 * @param lease its duration in seconds, and its id where the queue's claims are named.
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
  // Materialised, because a join may run a subquery once per row: each run would skip what the statement has updated so
  // far and take the next rows, and so claim more than the limit.
  return sql<Row>`WITH due AS MATERIALIZED (${due})
    UPDATE ${sql.table(queue.table)} AS m SET ${sql.join(changes)}
    FROM due WHERE ${inScope(queue, "m.")} ${sql.join(same, sql` `)}
    RETURNING ${returning}`;
}

/** Whether a row still belongs to this claim: once the lease is over, another claim may have taken the row. */
export function isHeld(queue: WorkQueue, { key, lease }: HeldRow): RawBuilder<SqlBool> {
  const same = queue.key.map((column, index) => sql`AND ${sql.ref(column)} = ${key[index]}`);
  const fence = sql.ref(queue.named ? "lease_id" : (queue.attempts ?? ""));
  return sql<SqlBool>`${inScope(queue, "")} ${sql.join(same, sql` `)} AND ${fence} = ${lease}`;
}

/** Extends a claim that is still valid, counted from now. */
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
  // Unqualified: until the rows are chosen, no claim joins another table with such a column.
  if (open && table !== "m.") parts.push(open);
  return sql<SqlBool>`${parts.length === 0 ? sql`TRUE` : sql.join(parts, sql` AND `)}`;
}
