-- What of a chain's headers proves nothing, so that its index believes endpoints that agree.
ALTER TABLE service.chain_freshness ADD COLUMN unproven text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN service.chain_freshness.unproven IS 'What of the headers proves nothing, as found since the indexer started: blooms, receipts, positions.';
