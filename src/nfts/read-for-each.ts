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

/** A statement of Kysely: a query or a piece of SQL. */
interface Statement<R> {
  compile(provider: QueryExecutorProvider): CompiledQuery<R>;
}

/**
 * Runs a statement that may touch many rows, apart from all others and few at once.
 *
 * @param limit `report` for what counts or sums up: it may take longer.
 * @param options `current`: from the primary.
 * @throws ServiceError `read_timeout`, `read_not_begun`, `service_unavailable`; `rate_limit_exceeded` for an account that
 *   has had its time of the database.
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

/** What one read gives for each of its keys: a result, or why that key has none. */
export type Outcome<T> = T | ServiceError;

/** Keys of one statement at most; more are read by several. */
export const mostKeys = 100;

/** The values of a key, by column. All keys of a read have the same columns. */
export type KeyValues = Record<string, Buffer | string>;

/** A key's value as a statement writes it: a parameter, or a column of the keys. */
// biome-ignore lint/suspicious/noExplicitAny: a parameter takes the type of what it is compared with.
export type KeyColumns<K extends KeyValues> = { [C in keyof K]: RawBuilder<any> };

/**
 * Runs one read for several keys as one statement: the read of a key is a lateral subquery, so a further key costs what its
 * rows cost, and neither a round trip nor a plan.
 *
 * @param build writes the read of one key. It must order its rows itself, and must not use the alias `each_key`.
 * @param run `light` for what touches about as many rows as it gives; see `readHeavy` for the others.
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
 * The pages of one read for several keys. A cursor belongs to the list of one key; the others answer with a refusal.
 *
 * @param boundsOf opens the page request for a key; it throws what `boundsOf` of `page.ts` throws.
 * @param read the rows of each of the keys that it is given.
 * @param toPage makes the answer of one key; it may throw a ServiceError for this key alone.
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

/** @returns what it returns, or the ServiceError that it throws. */
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
