import type pg from "pg";
import type { Services } from "../services.ts";

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
  for (const { name } of rows) await drop(pool, name, `DROP TABLE service.${name}`);
  const old = `clock_timestamp() - ${Number(days)} * interval '1 day'`;
  await drop(pool, "event_default", `DELETE FROM service.event_default WHERE at < ${old}`, `at < ${old}`);
  await pool.query(`DELETE FROM service.event_retraction WHERE at < ${old}`);
  await pool.query("DELETE FROM service.event_interest WHERE expires_at < clock_timestamp() - interval '1 hour'");
  await pool.query(`DELETE FROM service.webhook_delivery WHERE ended_at < ${old}`);
  // Of an endpoint that is paused or disabled; its event is dropped, so it can never be sent.
  await pool.query(
    `UPDATE service.webhook_delivery SET state = 'dead', ended_at = clock_timestamp(), tries = tries || jsonb_build_object(
       'attempt', attempts, 'at', clock_timestamp(), 'status', NULL, 'fault', 'expired', 'milliseconds', 0, 'answer', NULL)
     WHERE state = 'pending' AND created_at < ${old}`,
  );
  return rows.length;
}

/**
 * Drops events. An endpoint that some of them wait for goes on behind them, and its deliveries say which it missed. Its
 * row comes last: whoever compares events with endpoints reads the one table before it changes the other.
 */
async function drop(pool: pg.Pool, table: string, statement: string, which = "true"): Promise<void> {
  const { rows } = await pool.query<{ last: bigint | null }>(
    `SELECT max(sequence) AS last FROM service.${table} WHERE ${which}`,
  );
  const last = rows[0]?.last ?? null;
  const client = await pool.connect();
  let failed = true;
  try {
    await client.query("BEGIN");
    await client.query(statement);
    if (last !== null)
      await client.query(
        `WITH late AS (
           SELECT id, account_id, cursor, least(wanted, $1) AS upto FROM service.webhook
           WHERE wanted > cursor AND cursor < $1 FOR NO KEY UPDATE),
         moved AS (UPDATE service.webhook w SET cursor = l.upto, ahead = '{}' FROM late l WHERE w.id = l.id)
         INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, place, state, ended_at, tries)
           SELECT id, account_id, concat('expired_', cursor + 1, '_', upto), 'events.expired', 'events.expired', 'dead', clock_timestamp(),
             jsonb_build_array(jsonb_build_object('attempt', 0, 'at', clock_timestamp(), 'status', NULL, 'fault', 'expired',
               'milliseconds', 0, 'answer', concat('events ', cursor + 1, ' to ', upto, ' were dropped before they could be sent')))
           FROM late`,
        [String(last)],
      );
    await client.query("COMMIT");
    failed = false;
  } finally {
    client.release(failed);
  }
}
