import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import type { Database } from "./database.ts";

// bigint columns (block numbers, counters) stay far below 2^53 except where a column says otherwise;
// numeric (token ids, wei) arrives as text and is parsed to bigint by whoever reads it.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => BigInt(text));

/**
 * One pool per process.
 *
 * @param name shown in `pg_stat_activity`, so that an operator can tell the processes apart.
 */
export function createPool(databaseUrl: string, name: string, max = 10): pg.Pool {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: `mintyard-${name}`,
    max,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 30_000,
    statement_timeout: 15_000,
    idle_in_transaction_session_timeout: 15_000,
  });
  // An idle connection that Postgres closes (restart, failover) raises here; the next query opens a new one.
  pool.on("error", () => undefined);
  // While a connection is lent out, losing it raises here instead; whoever uses it sees its query fail.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

export function createDatabase(pool: pg.Pool): Kysely<Database> {
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
