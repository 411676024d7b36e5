import type { Services } from "../services.ts";

/** With more deliveries an endpoint is disabled; one that takes them has time to work off what waited for it. */
const mostWaiting = { taken: 200_000, notTaken: 100_000 };

/**
 * Makes the partitions of today and tomorrow, and drops what is older than `EVENT_DAYS`.
 *
 * @returns how many partitions were dropped.
 */
export async function keepEvents({ pool, config }: Pick<Services, "pool" | "config">): Promise<number> {
  const days = config.eventDays;
  await pool.query(
    "SELECT service.make_event_day((clock_timestamp() AT TIME ZONE 'UTC')::date + d) FROM generate_series(0, 1) d",
  );
  const { rows } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'service.event'::regclass AND c.relname ~ '^event_\\d{8}$'
       AND to_date(right(c.relname, 8), 'YYYYMMDD') < (clock_timestamp() AT TIME ZONE 'UTC')::date - $1::integer`,
    [days],
  );
  for (const { name } of rows) await pool.query(`DROP TABLE service.${name}`);
  const old = `clock_timestamp() - ${Number(days)} * interval '1 day'`;
  await pool.query(`DELETE FROM service.event_default WHERE at < ${old}`);
  await pool.query(`DELETE FROM service.event_retraction WHERE at < ${old}`);
  await pool.query("DELETE FROM service.event_interest WHERE expires_at < clock_timestamp() - interval '1 hour'");
  await pool.query(`DELETE FROM service.webhook_delivery WHERE ended_at < ${old}`);
  // Of an endpoint that is paused or disabled; its event is dropped, so it can never be sent.
  await pool.query(
    `WITH late AS (UPDATE service.webhook_delivery SET state = 'dead', ended_at = clock_timestamp()
       WHERE state = 'pending' AND created_at < ${old} RETURNING id, account_id, attempts)
     INSERT INTO service.webhook_try (delivery_id, attempt, account_id, at, fault, milliseconds)
     SELECT id, attempts, account_id, clock_timestamp(), 'expired', 0 FROM late`,
  );
  await pool.query(
    `UPDATE service.webhook w SET state = 'disabled', disabled_reason = 'backlog', disabled_at = clock_timestamp(),
       changed_at = clock_timestamp()
     FROM (SELECT webhook_id, count(*) FROM service.webhook_delivery WHERE state = 'pending' GROUP BY 1) d
     WHERE w.id = d.webhook_id AND w.state <> 'disabled'
       AND d.count > CASE WHEN w.state = 'enabled' AND w.failures = 0 THEN $1::integer ELSE $2::integer END`,
    [mostWaiting.taken, mostWaiting.notTaken],
  );
  return rows.length;
}
