-- Transactions of a paying wallet that this service signs by their content, and that this database never gave a nonce:
-- another installation uses the wallet too. What a restored database has forgotten is not among them.
CREATE TABLE service.external_transaction (
  chain_id integer NOT NULL,
  addr bytea NOT NULL CHECK (octet_length(addr) = 20),
  nonce bigint NOT NULL CHECK (nonce >= 0),
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  kind text NOT NULL CHECK (kind IN ('deploy', 'update')),
  -- The request that it deploys, which is unknown here.
  root_id uuid,
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, addr, nonce)
);

-- Since when `basis` is what it is: until then the database may have forgotten transactions of its own.
ALTER TABLE service.relayer_wallet ADD COLUMN basis_at timestamptz;
UPDATE service.relayer_wallet SET basis_at = clock_timestamp() WHERE basis IS NOT NULL;
