-- Contracts whose withheld ranges (ERC-2309) an operator lets in: each range is listed whole once its block is final.
CREATE TABLE service.listed_contract (
  chain_id integer NOT NULL,
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, address)
);
