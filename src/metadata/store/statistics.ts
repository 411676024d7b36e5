import { type Kysely, sql } from "kysely";
import type { Database } from "../../db/database.ts";

/**
 * Has PostgreSQL count the tokens' metadata again when a fifth of it changed. Its own maintenance comes by once a
 * minute; until then a collection of thousands that was just minted or revealed is planned for as an empty table, and
 * a page of it takes ten times as long. A login that may not is left to that maintenance.
 */
export async function refreshStatistics(db: Kysely<Database>): Promise<void> {
  const { rows } = await sql`
    SELECT FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
    WHERE s.relid = 'service.token_metadata'::regclass
      AND s.n_mod_since_analyze > 500 + greatest(c.reltuples, 0) / 5
      AND pg_has_role(c.relowner, 'USAGE')`.execute(db);
  if (rows.length > 0) await sql`ANALYZE (SKIP_LOCKED) service.token_metadata`.execute(db);
}
