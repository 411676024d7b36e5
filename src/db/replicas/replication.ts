import type pg from "pg";
import { ConfigError } from "../../setting-words.ts";
import type { Logger } from "../../telemetry/log.ts";
import { withConnection } from "../connection.ts";

/**
 * How standbys follow a primary; the login needs `pg_monitor` to see which of them are synchronous.
 *
 * @param client of the primary.
 * @returns `synchronous`: a commit waits for a standby, so nothing that was answered is lost when it takes over.
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

/**
 * Checked before a process works with accounts and money.
 *
 * @param failover whether another server may take over from the one in `databaseUrl` automatically
 * (`DATABASE_FAILOVER`). If not, asynchronous standbys only cause a warning: they may be there for reads.
 * @throws ConfigError when a standby may take over and could lack what was answered.
 */
export async function requireSynchronous(databaseUrl: string, failover: boolean, log: Logger): Promise<void> {
  const { standbys, synchronous } = await withConnection(databaseUrl, "replication", readReplication);
  if (synchronous) return;
  if (failover)
    throw new ConfigError(
      "DATABASE_FAILOVER: commits wait for no standby, and one that takes over would lack what was answered: set synchronous_mode " +
        "of Patroni, or synchronous_standby_names, and leave synchronous_commit on",
    );
  if (standbys > 0)
    log.warn(
      { standbys },
      "standbys follow asynchronously: one that takes over lacks what was answered last, deployments among it; see docs/cluster.md",
    );
}
