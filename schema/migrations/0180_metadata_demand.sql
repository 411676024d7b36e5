-- Metadata is read of what readers ask for. The process that answered records the demand, the
-- worker queues it and deletes its row. A crash may lose rows: the next read records them again.
CREATE UNLOGGED TABLE service.metadata_demand (
  chain_id integer NOT NULL,
  -- chain: the newest mints, with twenty zero bytes as address.
  kind text NOT NULL CHECK (kind IN ('token', 'contract', 'account', 'chain')),
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  -- Of a token; else 0.
  token_id numeric(78,0) NOT NULL DEFAULT 0,
  PRIMARY KEY (chain_id, kind, address, token_id)
);

ALTER TABLE service.contract_metadata
  -- When somebody first asked for the collection: from then on all of its tokens are read.
  ADD COLUMN demanded_at timestamptz,
  -- When the tokens that it had by then were queued.
  ADD COLUMN queued_at timestamptz;
CREATE INDEX contract_metadata_demanded ON service.contract_metadata (chain_id)
  WHERE demanded_at IS NOT NULL AND queued_at IS NULL;

-- What was indexed so far is queued as it was: nobody loses metadata by this change.
