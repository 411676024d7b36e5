-- What the ledger held below finality when it became final, so that a change of it can be noticed later.
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
