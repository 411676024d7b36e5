-- What is read of more than one subject: collections with their settings, and what monitors may know of the whole service.

CREATE AGGREGATE service.jsonb_overlay(jsonb) (SFUNC = jsonb_concat, STYPE = jsonb, INITCOND = '{}');

-- The confirmed collections, whoever's wallet deployed them, with their settings as of the last update that the service
-- sent. An update holds only the settings it changed, so they are laid over one another by order of acceptance: of each
-- member the update that was accepted last holds, also when an earlier one had to be repeated behind it. An update keeps
-- the letter case of the royalties address (`spelling`) beside its changes, which are compared in lower case.
--
-- A collection that another transaction made is one like others, with that transaction; its own nonce, if it has one, was
-- used for something else.
--
-- It reads with the rights of whoever asks, so the policies of intents and self-deployments hold in it too: with its
-- owner's rights the role of the HTTP process would see the collections of every account.
CREATE VIEW service.collection AS
WITH deployed AS (
  SELECT i.id, i.tenant_id, i.chain_id, i.predicted_addr AS address, i.payload, i.allowlist_id, i.created_at,
    coalesce(i.found_tx, s.mined_attempt) AS tx_hash,
    CASE WHEN i.found_tx IS NULL THEN s.mined_block ELSE coalesce(i.found_block, 0) END AS block_number, true AS relayed
  FROM service.intent i LEFT JOIN service.nonce_reservation s ON s.intent_id = i.id
  WHERE i.kind = 'deploy' AND i.state IN ('confirmed', 'finalized') AND (i.found_tx IS NOT NULL OR s.intent_id IS NOT NULL)
  UNION ALL
  SELECT d.id, d.tenant_id, d.chain_id, d.address, d.payload, d.allowlist_id, d.created_at, d.tx_hash, d.block_number, false
  FROM service.self_deployment d
  WHERE d.address IS NOT NULL
)
SELECT d.id, d.tenant_id, d.chain_id, d.address, d.created_at, d.tx_hash, d.block_number, d.relayed,
  d.payload || coalesce(u.changes, '{}') AS settings,
  -- A list that was emptied is a null that replaces.
  CASE WHEN u.changes ? 'presaleMerkleRoot' THEN u.allowlist_id ELSE d.allowlist_id END AS allowlist_id,
  u.updated_at
FROM deployed d
LEFT JOIN LATERAL (
  SELECT service.jsonb_overlay(i.payload -> 'changes' || coalesce(i.payload -> 'spelling', '{}') ORDER BY i.seq) AS changes,
    (array_agg(i.allowlist_id ORDER BY i.seq DESC) FILTER (WHERE i.payload -> 'changes' ? 'presaleMerkleRoot'))[1] AS allowlist_id,
    max(i.settled_at) AS updated_at
  FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
  WHERE i.kind = 'update' AND i.chain_id = d.chain_id AND i.predicted_addr = d.address
    AND i.state IN ('confirmed', 'finalized')
) u ON true;
ALTER VIEW service.collection SET (security_invoker = true);

-- Every presale list that a collection was ever asked to have, by its root: proofs of older lists stay readable. With its
-- owner's rights: eligibility answers any account about any collection.
CREATE VIEW service.collection_allowlist AS
SELECT i.chain_id, i.predicted_addr AS address, i.tenant_id, i.allowlist_id,
  decode(substr(coalesce(i.payload -> 'changes', i.payload) ->> 'presaleMerkleRoot', 3), 'hex') AS root, i.created_at,
  i.state IN ('confirmed', 'finalized') AS stood
FROM service.intent i
WHERE coalesce(i.payload -> 'changes', i.payload) ? 'presaleMerkleRoot' AND i.state NOT IN ('cancelled', 'expired', 'failed_onchain', 'retried')
UNION ALL
SELECT d.chain_id, d.address, d.tenant_id, d.allowlist_id,
  decode(substr(d.payload ->> 'presaleMerkleRoot', 3), 'hex'), d.created_at, true
FROM service.self_deployment d
WHERE d.address IS NOT NULL;

-- How many deployments and updates of everybody are in which state, and since when. A view reads with its owner's rights,
-- so the HTTP process sees the sums although it sees no other tenant's rows.
CREATE VIEW service.work_queue AS
  SELECT chain_id, state, count(*)::int AS items,
    extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS oldest_seconds
  FROM service.intent
  WHERE state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried')
  GROUP BY chain_id, state;

-- Backfills have millions of these; beyond the bound the number says enough.
CREATE VIEW service.metadata_queue AS
  SELECT 'pending' AS status, (SELECT count(*)::int FROM (SELECT FROM service.token_metadata WHERE status = 'pending' LIMIT 100000) AS p) AS items
  UNION ALL
  SELECT 'failed', (SELECT count(*)::int FROM (SELECT FROM service.token_metadata WHERE status = 'failed' LIMIT 100000) AS f);

CREATE VIEW service.pin_queue AS
  SELECT pin_state AS state, count(*)::int AS items
  FROM service.upload WHERE pin_state IN ('queued', 'failed') GROUP BY pin_state;

-- The last backup: one row, by whoever took one. It belongs to this database: a backup does not hold it, and a restored
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

-- Which of the relations that have policies do not hold the caller to them, by name: a superuser, their owner and a role
-- with BYPASSRLS see all rows, and so does everybody where policies are switched off.
CREATE FUNCTION service.unbound_relations() RETURNS text[] LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT coalesce(pg_catalog.array_agg(DISTINCT c.relname::text) FILTER (WHERE NOT pg_catalog.row_security_active(c.oid)), '{}')
  FROM pg_catalog.pg_policy p JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
  WHERE c.relnamespace = 'service'::pg_catalog.regnamespace
$$;

-- Ages of queues, sizes, replication, the last backup: sums of everybody's rows, and of no account by itself. Definer's
-- rights: of the primary's standbys its owner may know more than the HTTP process does.
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
