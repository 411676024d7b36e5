import type pg from "pg";
import { readIndexStatements } from "../../schema/read-indexes.ts";

/**
 * Makes the indexes that readers need, and statistics for tables that have none: without them PostgreSQL takes what a
 * backfill has just filled for small tables, until its own maintenance comes by a minute later.
 */
export async function prepareForReaders(client: pg.ClientBase, schema: string): Promise<void> {
  for (const statement of readIndexStatements(schema)) await client.query(statement);
  const { rows } = await client.query<{ name: string }>(
    "SELECT format('%I.%I', $1::text, relname) AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r' AND reltuples < 0",
    [schema],
  );
  for (const { name } of rows) await client.query(`ANALYZE ${name}`);
}
