-- How many requests of everybody wait, by reason and since when. As service.work_queue: a view reads with its owner's rights, and
-- its states are the same, so that the same index serves.
CREATE VIEW service.held_requests AS
  SELECT chain_id, hold_reason AS reason, count(*)::int AS items,
    extract(epoch FROM clock_timestamp() - min(created_at))::float8 AS oldest_seconds
  FROM service.intent
  WHERE state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried') AND hold_reason IS NOT NULL
  GROUP BY chain_id, hold_reason;

-- No wallet ever paused for fees: its requests wait one by one.
ALTER TABLE service.relayer_wallet DROP CONSTRAINT relayer_wallet_state_check;
ALTER TABLE service.relayer_wallet ADD CONSTRAINT relayer_wallet_state_check
  CHECK (state IN ('open', 'paused_funds', 'reconcile', 'halted'));
