-- The indexer looks every second, also while its nodes are away: then the lag in blocks is not known.
ALTER TABLE service.chain_freshness
  ADD COLUMN node_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN node_fault text;
COMMENT ON COLUMN service.chain_freshness.checked_at IS 'When the chain''s indexer looked last, with or without an answer.';
COMMENT ON COLUMN service.chain_freshness.node_seen_at IS 'When a node reported its head last.';
COMMENT ON COLUMN service.chain_freshness.node_fault IS 'Why no node has reported its head since; null while one does.';
