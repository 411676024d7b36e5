import type pg from "pg";

/**
 * How a primary's standbys follow it; the login needs `pg_monitor` to see which of them are synchronous.
 *
 * @param client of the primary.
 * @returns `synchronous`: a commit waits for one of them, so that none of what was answered is lost when it takes over.
 */
export async function readReplication(client: pg.ClientBase | pg.Pool) {
  const { rows } = await client.query<{ standbys: number; named: boolean; waits: boolean }>(
    `SELECT (SELECT count(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup')::int AS standbys,
       current_setting('synchronous_standby_names') <> '' AS named,
       current_setting('synchronous_commit') NOT IN ('off', 'local') AS waits`,
  );
  const [row] = rows;
  return { standbys: row?.standbys ?? 0, synchronous: Boolean(row?.named && row.waits) };
}
