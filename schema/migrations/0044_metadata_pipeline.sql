-- The queue is picked contract by contract: one probe per contract finds the next that has work.
DROP INDEX service.token_metadata_due;
CREATE INDEX token_metadata_due ON service.token_metadata (chain_id, priority, contract, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL;

-- Progress of a collection: counted on these two.
CREATE INDEX token_metadata_failed ON service.token_metadata (chain_id, contract, error_code) WHERE status = 'failed';
-- A reorg makes every row stale that was read above the fork.
CREATE INDEX token_metadata_fetched ON service.token_metadata (chain_id, fetched_block) WHERE fetched_block IS NOT NULL;

ALTER TABLE service.token_metadata
  -- Media type that the first bytes of the image tell; null: not known.
  ADD COLUMN file_type text,
  -- Why the image's type and size are not known; the document itself may be fresh.
  ADD COLUMN file_error text;

-- Bytes that `token_metadata.metadata` is not: documents that had to be repaired or re-encoded, and
-- those that are no JSON object. By hash, once for all tokens that share them.
CREATE TABLE service.raw_document (
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  size_bytes integer NOT NULL,
  -- The first 65,536 bytes.
  head bytea NOT NULL,
  kept_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE service.contract_metadata
  ADD COLUMN contract_uri text,
  -- The JSON object behind it, as text.
  ADD COLUMN document text,
  ADD COLUMN uri_error text,
  -- When announcements of the contract were last turned into work.
  ADD COLUMN announced_at timestamptz;

-- What contracts said has changed, merged: work is made of it once per contract and window.
CREATE TABLE service.metadata_announcement (
  chain_id integer NOT NULL,
  contract bytea NOT NULL,
  from_token_id numeric(78,0) NOT NULL,
  to_token_id numeric(78,0) NOT NULL,
  -- Newest block of an event with this range.
  block bigint NOT NULL,
  -- Waits until this has come up to `block`.
  applied_block bigint NOT NULL DEFAULT -1,
  PRIMARY KEY (chain_id, contract, from_token_id, to_token_id)
);
CREATE INDEX metadata_announcement_waiting ON service.metadata_announcement (chain_id, contract)
  WHERE block > applied_block;

-- Blocks at which URIs were read: when the chain no longer has one, what was read there is stale.
CREATE TABLE service.metadata_read_block (
  chain_id integer NOT NULL,
  number bigint NOT NULL,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (chain_id, number, hash)
);
