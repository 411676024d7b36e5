import pg from "pg";
import { isAnalystSql } from "../../../schema/analyst-role.ts";

/** How an analyst's session gets in the service's way. */
export type Hindrance = "blocks_service" | "notification_queue" | "old_transaction" | "transaction_ids";

/** PostgreSQL lets every role `NOTIFY`, and each one uses a transaction id: one session can use thousands a second. */
const notifies = String.raw`(^|;)\s*(/\*[^*]*\*/\s*|--[^\n]*\n\s*)*notify\M`;

interface HinderingSession {
  pid: number;
  role: string;
  database: string;
  reason: Hindrance;
  /** Age of its transaction; null when the transaction has just ended. */
  seconds: number | null;
  /** Its last statement, truncated. */
  statement: string;
}

/** A share of the server-wide notification queue. Once it is full, every commit that notifies fails. */
export const fullestQueue = 0.1;

/** How long a session of the service may wait for an analyst's lock. */
const longestWaitSeconds = 1;

/**
 * The analysts' sessions, in any database of the server, that keep a transaction open for too long (so that nobody's
 * dead rows and transaction ids can be cleaned up), keep the notification queue from being emptied, hold a lock that
 * another session of this database waits for, or use up transaction ids, of which a server has two thousand million.
 *
 * @returns `queueUsage` is from 0 to 1.
 */
export async function findHinderingAnalysts(client: pg.ClientBase, transactionSeconds: number) {
  const { rows } = await client.query<HinderingSession & { usage: number; uses_ids: boolean }>(
    `WITH queue AS (SELECT pg_notification_queue_usage() AS usage),
     analyst AS (
       SELECT a.pid, a.usename AS role, coalesce(a.datname, '') AS database,
         extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds, left(a.query, 200) AS statement,
         a.query ~* $4 OR a.backend_xid IS NOT NULL AS uses_ids
       FROM pg_stat_activity a WHERE ${isAnalystSql("a.usesysid")}),
     blocking AS (
       SELECT unnest(pg_blocking_pids(l.pid)) AS pid FROM pg_locks l
       JOIN pg_stat_activity w ON w.pid = l.pid AND w.datname = current_database()
       WHERE NOT l.granted AND l.waitstart < clock_timestamp() - make_interval(secs => $3)
         AND l.pid NOT IN (SELECT pid FROM analyst)),
     hindering AS (
       SELECT analyst.*, CASE
         WHEN pid IN (SELECT pid FROM blocking) THEN 'blocks_service'
         WHEN seconds IS NOT NULL AND usage > $2 THEN 'notification_queue'
         WHEN seconds > $1 THEN 'old_transaction'
         WHEN uses_ids THEN 'transaction_ids' END AS reason
       FROM analyst, queue)
     SELECT usage, h.* FROM queue LEFT JOIN hindering h ON h.reason IS NOT NULL`,
    [transactionSeconds, fullestQueue, longestWaitSeconds, notifies],
  );
  const sessions = rows.filter(({ pid }) => pid !== null).map(({ usage: _, uses_ids: __, ...session }) => session);
  return { sessions, queueUsage: rows[0]?.usage ?? 0 };
}

/** Usually a few milliseconds. A client that does not read its answers takes longer, but its session ends too. */
const endWithinMs = 2_000;

/** Ends a session and waits up to two seconds until it is gone. @returns false when this login may not end it. */
export async function endSession(client: pg.ClientBase, pid: number): Promise<boolean> {
  try {
    await client.query("SELECT pg_terminate_backend($1, $2)", [pid, endWithinMs]);
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === "42501") return false;
    throw error;
  }
}
