-- What the indexer found when it compared blocks of its index with another endpoint's logs.
CREATE TABLE service.log_sample (
  schema_name text PRIMARY KEY,
  chain_id bigint NOT NULL,
  blocks bigint NOT NULL DEFAULT 0,
  missing jsonb NOT NULL DEFAULT '{}'
);
COMMENT ON TABLE service.log_sample IS 'How many final blocks were compared with an endpoint''s logs, and how many logs the index lacks, by block.';
