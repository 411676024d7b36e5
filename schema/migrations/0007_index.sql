-- What the indexer's launcher saw of each chain, beside Ponder's tables: block hashes that name one another,
-- reorganisations, how fresh the index is, and what was final.

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
  node_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  node_fault text,
  final_block bigint,
  final_hash text,
  providers_agree boolean,
  refused_answers bigint NOT NULL DEFAULT 0,
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE service.chain_freshness IS 'Where each chain''s index stands; lag in blocks is node_head - indexed_block.';
COMMENT ON COLUMN service.chain_freshness.checked_at IS 'When the chain''s indexer looked last, with or without an answer.';
COMMENT ON COLUMN service.chain_freshness.node_seen_at IS 'When a node reported its head last.';
COMMENT ON COLUMN service.chain_freshness.node_fault IS 'Why no node has reported its head since; null while one does.';

-- What the ledger held below finality when it became final, so that a change of it can be detected later.
CREATE TABLE service.final_range (
  chain_id bigint NOT NULL,
  schema_name text NOT NULL,
  from_block bigint NOT NULL,
  to_block bigint NOT NULL,
  row_count bigint NOT NULL,
  digest numeric NOT NULL,
  sealed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (schema_name, from_block),
  CHECK (to_block >= from_block)
);
COMMENT ON TABLE service.final_range IS 'Ranges of final blocks with number and digest of their ledger rows; `doctor` compares (I6). One row an hour and chain.';

-- Contracts whose withheld ranges (ERC-2309) an operator lets in: each range is listed whole once its block is final.
CREATE TABLE service.listed_contract (
  chain_id integer NOT NULL,
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, address)
);
