-- Whether an index moves while its nodes have newer blocks, and why not: it may stand beside a node that answers at once.
ALTER TABLE service.chain_freshness
  ADD COLUMN progressed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ADD COLUMN waits_for text CHECK (waits_for IN ('processor', 'nodes', 'database', 'indexer'));
COMMENT ON COLUMN service.chain_freshness.progressed_at IS 'When the index took in a block last, or had its node''s head.';
COMMENT ON COLUMN service.chain_freshness.waits_for IS 'What the index waits for while it does not move; null while it does.';
