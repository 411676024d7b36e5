-- Whether each paying wallet has the factory's relayer role, as a worker read it from the chain last.
CREATE TABLE service.wallet_role (
  chain_id integer NOT NULL,
  addr bytea NOT NULL CHECK (octet_length(addr) = 20),
  has_role boolean NOT NULL,
  checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, addr)
);
COMMENT ON COLUMN service.wallet_role.checked_at IS 'When a worker recorded it last: at each change, and every few seconds.';
