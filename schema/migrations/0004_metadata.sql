-- What lies behind the token URIs of third parties' contracts, and the queue of reading it. A row is its
-- own job: it is due when next_attempt_at has come, and taken by moving next_attempt_at to the end
-- of a lease. No foreign keys into schema nft: those relations come and go with the index.
CREATE TABLE service.token_metadata (
  chain_id integer NOT NULL,
  contract bytea NOT NULL CHECK (octet_length(contract) = 20),
  token_id numeric(78,0) NOT NULL
    CHECK (token_id >= 0 AND token_id < 115792089237316195423570985008687907853269984665640564039457584007913129639936),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'fresh', 'failed')),
  -- 0: a client asked; 1: just minted; 2: the contract announced a change; 3: the rest.
  priority smallint NOT NULL DEFAULT 3 CHECK (priority BETWEEN 0 AND 3),
  attempts integer NOT NULL DEFAULT 0,
  -- Null: nothing to do.
  next_attempt_at timestamptz DEFAULT clock_timestamp(),
  lease_id uuid,
  lease_until timestamptz,
  -- The row is stale until the URI was read at this block or a later one.
  wanted_block bigint,
  -- Block at which the URI was last read, with or without success.
  fetched_block bigint,
  attempted_at timestamptz,
  fetched_at timestamptz,
  error_code text,
  -- As the contract returned it.
  token_uri text,
  -- The JSON object behind the URI, byte for byte: answers show it unchanged.
  metadata text,
  metadata_hash bytea,
  -- The document's own IPFS CID, when it was read from IPFS.
  raw_cid text,
  name text,
  description text,
  image text,
  animation_url text,
  -- CID and path of our own copy of the two files; null: we hold none.
  cached_image text,
  cached_animation text,
  file_width integer,
  file_height integer,
  file_size bigint,
  PRIMARY KEY (chain_id, contract, token_id)
);
CREATE INDEX token_metadata_due ON service.token_metadata (chain_id, priority, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX token_metadata_pending ON service.token_metadata (chain_id, contract) WHERE status = 'pending';

CREATE TABLE service.contract_metadata (
  chain_id integer NOT NULL,
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'fresh', 'failed')),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz DEFAULT clock_timestamp(),
  lease_id uuid,
  lease_until timestamptz,
  attempted_at timestamptz,
  fetched_at timestamptz,
  fetched_block bigint,
  error_code text,
  name text,
  symbol text,
  description text,
  thumbnail_url text,
  banner_url text,
  cached_thumbnail_url text,
  cached_banner_url text,
  -- A client asked for all tokens of the contract; the worker marks them and then records it.
  refresh_requested_at timestamptz,
  refresh_applied_at timestamptz,
  PRIMARY KEY (chain_id, address)
);
CREATE INDEX contract_metadata_due ON service.contract_metadata (chain_id, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX contract_metadata_refresh ON service.contract_metadata (chain_id)
  WHERE refresh_requested_at IS NOT NULL AND refresh_applied_at IS NULL;

-- How far the worker has looked, per chain. Positions are re-read with an overlap, so a reorg loses nothing.
CREATE TABLE service.metadata_cursor (
  chain_id integer PRIMARY KEY,
  mint_block bigint NOT NULL DEFAULT 0,
  update_block bigint NOT NULL DEFAULT 0,
  swept_at timestamptz
);
