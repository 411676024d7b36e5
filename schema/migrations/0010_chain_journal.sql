-- What the indexer's launcher saw of each chain, apart from Ponder's tables: block hashes that name
-- one another, reorganisations, and how fresh the index is.
CREATE TABLE service.chain_block (
  chain_id bigint NOT NULL,
  number bigint NOT NULL,
  hash text NOT NULL,
  parent_hash text NOT NULL,
  block_timestamp bigint NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, number)
);
COMMENT ON TABLE service.chain_block IS 'Canonical blocks as last seen, newest 20,000 per chain; each names the one before it.';

CREATE TABLE service.chain_reorg (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  chain_id bigint NOT NULL,
  fork_block bigint NOT NULL,
  depth bigint NOT NULL,
  old_head text NOT NULL,
  new_head text NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE service.chain_reorg IS 'Each time that blocks of the journal were replaced: from which block on, and how many.';

CREATE TABLE service.chain_freshness (
  chain_id bigint PRIMARY KEY,
  chain_name text NOT NULL,
  schema_name text NOT NULL,
  indexed_block bigint NOT NULL,
  indexed_hash text,
  indexed_timestamp bigint NOT NULL,
  node_head bigint NOT NULL,
  final_block bigint,
  final_hash text,
  providers_agree boolean,
  refused_answers bigint NOT NULL DEFAULT 0,
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE service.chain_freshness IS 'Where each chain''s index stands; lag in blocks is node_head - indexed_block.';
