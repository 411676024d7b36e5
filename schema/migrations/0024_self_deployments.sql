-- Collections that a creator's own wallet deploys. The service hands out the bytes of the creation and
-- finds them again on the chain: the row's id is appended to the init code, where the constructor does
-- not read it, so no other request, of this account or another, has these bytes.
CREATE TABLE service.self_deployment (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES service.account (id),
  chain_id integer NOT NULL,
  -- SHA-256 of the request in canonical form: asking again gives the same bytes while they are awaited.
  req_hash bytea NOT NULL CHECK (octet_length(req_hash) = 32),
  payload jsonb NOT NULL,
  allowlist_id uuid REFERENCES service.allowlist (id),
  owner bytea NOT NULL CHECK (octet_length(owner) = 20),
  init_code_hash bytea NOT NULL UNIQUE CHECK (octet_length(init_code_hash) = 32),
  init_code_bytes integer NOT NULL CHECK (init_code_bytes > 0),
  -- Last block whose logs were looked through.
  scanned_to bigint NOT NULL CHECK (scanned_to >= 0),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Not looked for any more after that.
  expires_at timestamptz NOT NULL DEFAULT clock_timestamp() + interval '30 days',
  -- Where it was found; null again when a reorganisation takes the block away.
  address bytea CHECK (octet_length(address) = 20),
  tx_hash bytea CHECK (octet_length(tx_hash) = 32),
  block_number bigint,
  block_hash bytea CHECK (octet_length(block_hash) = 32),
  finalized boolean NOT NULL DEFAULT false,
  CHECK ((address IS NULL) = (tx_hash IS NULL) AND (address IS NULL) = (block_number IS NULL)
    AND (address IS NULL) = (block_hash IS NULL)),
  CHECK (address IS NOT NULL OR NOT finalized)
);
CREATE UNIQUE INDEX self_deployment_address ON service.self_deployment (chain_id, address);
CREATE INDEX self_deployment_open ON service.self_deployment (chain_id, scanned_to) WHERE NOT finalized;
CREATE INDEX self_deployment_tenant ON service.self_deployment (tenant_id, chain_id, req_hash);
CREATE INDEX self_deployment_tx ON service.self_deployment (tx_hash);
