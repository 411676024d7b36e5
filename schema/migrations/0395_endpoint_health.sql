-- How the indexer finds each endpoint of a chain: what it can do, and what went wrong last.
ALTER TABLE service.chain_freshness ADD COLUMN endpoints jsonb NOT NULL DEFAULT '[]';
COMMENT ON COLUMN service.chain_freshness.endpoints IS 'In the order of RPC_URL_<CHAIN>, without websockets: host, state, blocks of logs at a time, last fault in the node''s words.';
