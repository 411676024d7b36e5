-- Metadata is read of what somebody looks at: a look is recorded by the process that answered, and made work of by the
-- worker, which takes its row away. A crash may lose them: the next look is another.
CREATE UNLOGGED TABLE service.metadata_look (
  chain_id integer NOT NULL,
  -- chain: the newest mints, with twenty zero bytes as address.
  kind text NOT NULL CHECK (kind IN ('token', 'contract', 'account', 'chain')),
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  -- Of a token; else 0.
  token_id numeric(78,0) NOT NULL DEFAULT 0,
  PRIMARY KEY (chain_id, kind, address, token_id)
);

ALTER TABLE service.contract_metadata
  -- When somebody first looked at the collection: from then on all of its tokens are read.
  ADD COLUMN looked_at timestamptz,
  -- When the tokens that it had by then were queued.
  ADD COLUMN queued_at timestamptz;
CREATE INDEX contract_metadata_looked ON service.contract_metadata (chain_id)
  WHERE looked_at IS NOT NULL AND queued_at IS NULL;

-- What was indexed so far is queued as it was: nobody loses metadata by this change.
