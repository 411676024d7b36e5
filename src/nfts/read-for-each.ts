import {
  type CompiledQuery,
  type Expression,
  type QueryExecutorProvider,
  type RawBuilder,
  type Simplify,
  sql,
} from "kysely";
import type { ReadLimits } from "../config/read-limits.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import type { PageBounds } from "./page.ts";

/** Rows that a page number may skip before its read counts as heavy. */
export const lightOffset = 10_000;

/** A Kysely query or SQL fragment. */
interface Statement<R> {
  compile(provider: QueryExecutorProvider): CompiledQuery<R>;
}

/**
 * Runs a statement that may touch many rows, separately from light ones and only a few at a time.
 *
 * @param limit `report` for counts and sums, which get more time.
 * @param options `current`: read from the primary.
 * @throws ServiceError `read_timeout`, `read_not_begun`, `service_unavailable`; `rate_limit_exceeded` for an account
 * that has used up its database time.
 */
export async function readHeavy<R>(
  services: Services,
  statement: Statement<R>,
  limit: Exclude<keyof ReadLimits, "wait">,
  options: { current?: boolean } = {},
): Promise<R[]> {
  const { sql: text, parameters } = statement.compile(services.index.db);
  const { rows } = await services.index.pool.heavy(
    { text, values: [...parameters] },
    services.config.readLimits[limit],
    options,
  );
  return rows as R[];
}

/** The outcome of a read for one key: a result, or the error of that key. */
export type Outcome<T> = T | ServiceError;

/** The most keys in one statement; more keys take several statements. */
export const mostKeys = 100;

/** A key's values by column. All keys of a read have the same columns. */
export type KeyValues = Record<string, Buffer | string>;

/** A key's value in the statement's SQL: a parameter, or a column of the keys. */
// biome-ignore lint/suspicious/noExplicitAny: a parameter takes the type of what it is compared with.
export type KeyColumns<K extends KeyValues> = { [C in keyof K]: RawBuilder<any> };

/**
 * Runs one read for several keys as a single statement with a lateral subquery per key. A further key costs only its
 * rows, not a round trip or a plan.
 *
 * @param build writes the read of one key. It must order its rows itself, and must not use the alias `each_key`.
 * @param run `light` if it touches about as many rows as it returns; otherwise see `readHeavy`.
 * @returns the rows of each key, in the keys' order and each in the read's own order.
 */
export async function readForEach<R, K extends KeyValues>(
  services: Services,
  keys: readonly K[],
  build: (columns: KeyColumns<K>) => Expression<R> & Statement<R>,
  run: "light" | "read" | "report",
  options: { current?: boolean } = {},
): Promise<Simplify<R>[][]> {
  const [first] = keys;
  if (!first) return [];
  const { db } = services.index;
  const execute = async <T>(statement: Statement<T>): Promise<T[]> =>
    run === "light"
      ? (await db.executeQuery(statement.compile(db))).rows
      : await readHeavy(services, statement, run, options);
  const names = Object.keys(first);
  if (keys.length === 1) {
    const values = Object.fromEntries(names.map((name) => [name, parameter(first[name])])) as KeyColumns<K>;
    return [(await execute(build(values))) as Simplify<R>[]];
  }
  const columns = Object.fromEntries(names.map((name) => [name, sql.ref(`each_key.${name}`)])) as KeyColumns<K>;
  const arrays = names.map((name) => {
    const type = sql.raw(first[name] instanceof Buffer ? "bytea[]" : "numeric[]");
    return sql`${keys.map((key) => key[name])}::${type}`;
  });
  const rows = await execute(sql<R & { each_key: bigint; each_row: bigint }>`
    SELECT each_key.each_key, found.* FROM unnest(${sql.join(arrays)})
      WITH ORDINALITY AS each_key (${sql.join([...names, "each_key"].map((name) => sql.ref(name)))})
    CROSS JOIN LATERAL (SELECT one_read.*, row_number() OVER () AS each_row FROM (${build(columns)}) one_read) found
    ORDER BY each_key.each_key, found.each_row`);
  const found: Simplify<R>[][] = keys.map(() => []);
  for (const row of rows) found[Number(row.each_key) - 1]?.push(row as Simplify<R>);
  return found;
}

function parameter(value: Buffer | string | undefined) {
  return value instanceof Buffer ? sql`${value}` : sql`${value}::numeric`;
}

/**
 * The pages of one read for several keys. A cursor belongs to one key's list; the other keys get an error.
 *
 * @param boundsOf opens the page request for a key; it throws what `boundsOf` of `page.ts` throws.
 * @param read returns the rows of each of the given keys.
 * @param toPage makes one key's answer; it may throw a ServiceError for this key alone.
 */
export async function pagesForEach<K, R, P>(
  keys: readonly K[],
  boundsOf: (key: K) => PageBounds,
  read: (keys: readonly K[], bounds: PageBounds) => Promise<R[][]>,
  toPage: (rows: R[], key: K, bounds: PageBounds) => P,
): Promise<Outcome<P>[]> {
  const opened = keys.map((key) => outcomeOf(() => boundsOf(key)));
  const bounds = opened.find((one): one is PageBounds => !(one instanceof ServiceError));
  const wanted = keys.filter((_key, index) => !(opened[index] instanceof ServiceError));
  const rows = bounds ? await read(wanted, bounds) : [];
  return opened.map((one, index) => {
    if (one instanceof ServiceError) return one;
    const own = rows.shift() ?? [];
    return outcomeOf(() => toPage(own, keys[index] as K, one));
  });
}

/** @returns the result of `make`, or the ServiceError that it throws. */
function outcomeOf<T>(make: () => T): Outcome<T> {
  try {
    return make();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** The result of a read for one key. @throws ServiceError of that key. */
export function single<T>(outcomes: readonly Outcome<T>[]): T {
  const [outcome] = outcomes;
  if (outcome instanceof ServiceError) throw outcome;
  return outcome as T;
}
