import type { CompiledQuery, QueryExecutorProvider } from "kysely";
import type { ReadLimits } from "../config/read-limits.ts";
import type { Services } from "../services.ts";

/** Rows that a page number may skip before its read counts as heavy. */
export const lightOffset = 10_000;

/** A statement of Kysely: a query or a piece of SQL. */
export interface Statement<R> {
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
