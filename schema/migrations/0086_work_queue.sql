-- What monitors may know of everybody's deployments: how many there are in which state, and since when. A view
-- reads with its owner's rights, so the HTTP process sees the sums although it sees no other tenant's rows.
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

CREATE INDEX upload_pin_failed ON service.upload (pin_due_at) WHERE pin_state = 'failed';
CREATE VIEW service.pin_queue AS
  SELECT pin_state AS state, count(*)::int AS items
  FROM service.upload WHERE pin_state IN ('queued', 'failed') GROUP BY pin_state;
