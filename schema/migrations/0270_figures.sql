-- What monitors may know of the whole service beside service.work_queue: ages of queues, sizes, replication, the last
-- backup. Sums of everybody's rows, and of no account by itself.

-- One row, by whoever took a backup last. It belongs to this database: a backup does not hold it, and a restored
-- database has none.
CREATE TABLE service.last_backup (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- The moment that the backup shows: what came later is not in it.
  taken_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- For other ways to take one: SELECT service.record_backup();
CREATE FUNCTION service.record_backup(taken timestamptz DEFAULT clock_timestamp()) RETURNS timestamptz
  LANGUAGE sql SET search_path = '' AS $$
  INSERT INTO service.last_backup AS b (taken_at) VALUES (taken)
    ON CONFLICT (one) DO UPDATE SET taken_at = greatest(b.taken_at, excluded.taken_at), recorded_at = clock_timestamp()
    RETURNING b.taken_at
$$;
-- Without a policy nobody but the owner reads or writes it, whatever rights the HTTP process is given on all tables.
ALTER TABLE service.last_backup ENABLE ROW LEVEL SECURITY;

-- Which of the relations that have policies do not hold the caller to them, by name: a superuser, their owner and a role
-- with BYPASSRLS see all rows, and so does everybody where policies are switched off.
CREATE FUNCTION service.unbound_relations() RETURNS text[] LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT coalesce(pg_catalog.array_agg(DISTINCT c.relname::text) FILTER (WHERE NOT pg_catalog.row_security_active(c.oid)), '{}')
  FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
  WHERE c.relnamespace = 'service'::pg_catalog.regnamespace
$$;

-- Definer's rights: of the primary's standbys its owner may know more than the HTTP process does, and the sums are
-- everybody's.
CREATE FUNCTION service.figures() RETURNS json LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  WITH now AS (SELECT pg_catalog.clock_timestamp() AS at),
  -- A standby that is being made by a base backup follows nothing.
  standbys AS (
    SELECT coalesce(nullif(s.application_name, ''), 'unnamed') AS name,
      CASE WHEN NOT pg_catalog.pg_is_in_recovery()
        THEN pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), s.replay_lsn)::float8 END AS lag
    FROM pg_catalog.pg_stat_replication s WHERE s.state IS DISTINCT FROM 'backup')
  SELECT pg_catalog.json_build_object(
    'queues', (SELECT coalesce(pg_catalog.json_agg(q), '[]') FROM (
      -- The states are those of service.work_queue, so that its index serves.
      SELECT CASE i.kind WHEN 'deploy' THEN 'deployment' ELSE 'update' END AS queue, i.chain_id,
        pg_catalog.date_part('epoch', now.at - min(i.created_at)) AS seconds
      FROM service.intent i, now
      WHERE i.state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried')
        AND i.state IN ('queued', 'held')
      GROUP BY i.kind, i.chain_id, now.at
      UNION ALL
      -- Tokens that a client asked for or that were just minted. What is read in the background may wait for long.
      SELECT 'metadata', f.chain_id, pg_catalog.date_part('epoch', now.at - d.due)
      FROM now, service.chain_freshness f, LATERAL (SELECT min(t.next_attempt_at) AS due FROM (
        SELECT m.next_attempt_at FROM service.token_metadata m
        WHERE m.chain_id = f.chain_id AND m.priority IN (0, 1) AND m.next_attempt_at < pg_catalog.clock_timestamp()
        LIMIT 100000) t) d
      WHERE d.due IS NOT NULL
      UNION ALL
      SELECT 'pin', NULL, pg_catalog.date_part('epoch', now.at - min(u.created_at))
      FROM service.upload u, now WHERE u.pin_state = 'queued' GROUP BY now.at) q),
    'stored', (SELECT coalesce(pg_catalog.json_object_agg(s.tier, s.bytes), '{}') FROM (
      SELECT p.tier, coalesce(sum(s.bytes + s.allowlist_bytes), 0)::float8 AS bytes FROM service.plan p
      LEFT JOIN (service.account_storage s JOIN service.account a ON a.id = s.account_id) ON a.tier = p.tier
      GROUP BY p.tier) s),
    'databaseBytes', pg_catalog.pg_database_size(pg_catalog.current_database()),
    'standbys', (SELECT count(*) FROM standbys),
    'synchronous', pg_catalog.current_setting('synchronous_standby_names') <> ''
      AND pg_catalog.current_setting('synchronous_commit') NOT IN ('off', 'local'),
    'lags', (SELECT coalesce(pg_catalog.json_object_agg(l.name, l.lag), '{}') FROM (
      SELECT s.name, max(s.lag) AS lag FROM standbys s WHERE s.lag IS NOT NULL GROUP BY s.name LIMIT 20) l),
    -- Without a backup the age of the database, so that a new installation has as long as any other to take one.
    'backupSeconds', (SELECT pg_catalog.date_part('epoch', now.at - coalesce(
      (SELECT b.taken_at FROM service.last_backup b), (SELECT min(m.applied_at) FROM service.migration m))) FROM now),
    'backedUp', EXISTS (SELECT FROM service.last_backup))
$$;
