-- What is behind the token URIs of third parties' contracts, and the queue of reading it. A row is its own job: it is due
-- when next_attempt_at has come, and taken by moving next_attempt_at to the end of a lease. No foreign keys into schema
-- nft: those relations come and go with the index.

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
  -- Media type that the first bytes of the image show; null: not known.
  file_type text,
  -- Why the image's type and size are not known; the document itself may be fresh.
  file_error text,
  PRIMARY KEY (chain_id, contract, token_id)
);
-- The queue is picked contract by contract: one probe per contract finds the next that has work.
CREATE INDEX token_metadata_due ON service.token_metadata (chain_id, priority, contract, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL;
-- Progress of a collection: counted on these two.
CREATE INDEX token_metadata_pending ON service.token_metadata (chain_id, contract) WHERE status = 'pending';
CREATE INDEX token_metadata_failed ON service.token_metadata (chain_id, contract, error_code) WHERE status = 'failed';
-- A reorganisation makes every row stale that was read above the fork.
CREATE INDEX token_metadata_fetched ON service.token_metadata (chain_id, fetched_block) WHERE fetched_block IS NOT NULL;

-- Search over name and description. No stemming: names are in every language and in none.
CREATE FUNCTION service.search_text(name text, description text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_tsvector('pg_catalog.simple'::regconfig, left(coalesce(name, ''), 500) || ' ' || left(coalesce(description, ''), 4000));
CREATE INDEX token_metadata_search ON service.token_metadata USING gin (service.search_text(name, description))
  WHERE name IS NOT NULL OR description IS NOT NULL;

-- Bytes that `token_metadata.metadata` is not: documents that had to be repaired or re-encoded, and those that are no JSON
-- object. By hash, once for all tokens that share them.
CREATE TABLE service.raw_document (
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  size_bytes integer NOT NULL,
  -- The first 65,536 bytes.
  head bytea NOT NULL,
  kept_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Traits as narrow rows, for filters and summaries: a filter page over them takes a twentieth of what a scan of the
-- documents does. Filled by triggers, so whoever writes metadata need not know of it.
CREATE TABLE service.token_trait (
  chain_id integer NOT NULL,
  contract bytea NOT NULL,
  name text NOT NULL,
  value text NOT NULL,
  token_id numeric(78,0) NOT NULL,
  -- The value as a number, where it is one or is written like one.
  number numeric,
  PRIMARY KEY (chain_id, contract, name, value, token_id)
);
CREATE INDEX token_trait_token ON service.token_trait (chain_id, contract, token_id);
CREATE INDEX token_trait_number ON service.token_trait (chain_id, contract, name, number, token_id)
  WHERE number IS NOT NULL;

-- The traits of one document: `attributes` or `traits`, as an array of {trait_type, value} or as an object. Bounded in
-- number and length, because the document is a third party's. A document that PostgreSQL cannot take as jsonb (an escaped
-- NUL, a number beyond all bounds) has none.
CREATE FUNCTION service.traits_of(document text) RETURNS TABLE (name text, value text, number numeric)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
DECLARE
  parsed jsonb;
  listed jsonb;
BEGIN
  IF document IS NULL OR octet_length(document) > 1048576 THEN RETURN; END IF;
  parsed := document::jsonb;
  IF jsonb_typeof(parsed) <> 'object' THEN RETURN; END IF;
  listed := coalesce(parsed -> 'attributes', parsed -> 'traits');
  IF jsonb_typeof(listed) = 'object' THEN
    SELECT jsonb_agg(jsonb_build_object('trait_type', e.key, 'value', e.value)) INTO listed FROM jsonb_each(listed) e;
  END IF;
  IF listed IS NULL OR jsonb_typeof(listed) <> 'array' THEN RETURN; END IF;
  RETURN QUERY
    SELECT DISTINCT ON (t.n, t.v) t.n, t.v,
      CASE WHEN t.v ~ '^-?[0-9]{1,30}(\.[0-9]{1,30})?$' THEN t.v::numeric END
    FROM (
      SELECT left(coalesce(item ->> 'trait_type', item ->> 'name', ''), 200) AS n, left(item ->> 'value', 300) AS v
      FROM jsonb_array_elements(listed) WITH ORDINALITY AS listing (item, place)
      WHERE jsonb_typeof(item) = 'object' AND jsonb_typeof(item -> 'value') IN ('string', 'number', 'boolean')
      ORDER BY place LIMIT 200) t;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR invalid_text_representation OR untranslatable_character
  OR statement_too_complex THEN
  RETURN;
END $body$;

-- Rows are written one at a time, and most writes (leases, failures) leave the document as it is: a trigger per row with a
-- condition costs those nothing, transition tables would.
CREATE FUNCTION service.derive_traits() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM service.token_trait t
    WHERE t.chain_id = OLD.chain_id AND t.contract = OLD.contract AND t.token_id = OLD.token_id;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO service.token_trait (chain_id, contract, name, value, token_id, number)
    SELECT NEW.chain_id, NEW.contract, t.name, t.value, NEW.token_id, t.number
    FROM service.traits_of(NEW.metadata) t ORDER BY t.name, t.value;
  END IF;
  RETURN NULL;
END $body$;
CREATE TRIGGER traits_inserted AFTER INSERT ON service.token_metadata
  FOR EACH ROW WHEN (NEW.metadata IS NOT NULL) EXECUTE FUNCTION service.derive_traits();
CREATE TRIGGER traits_updated AFTER UPDATE OF metadata ON service.token_metadata
  FOR EACH ROW WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata) EXECUTE FUNCTION service.derive_traits();
CREATE TRIGGER traits_deleted AFTER DELETE ON service.token_metadata
  FOR EACH ROW WHEN (OLD.metadata IS NOT NULL) EXECUTE FUNCTION service.derive_traits();

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
  contract_uri text,
  -- The JSON object behind it, as text.
  document text,
  uri_error text,
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
  -- When announcements of the contract were last turned into work.
  announced_at timestamptz,
  -- When somebody first asked for the collection: from then on all of its tokens are read.
  demanded_at timestamptz,
  -- When the tokens that it had by then were queued.
  queued_at timestamptz,
  PRIMARY KEY (chain_id, address)
);
CREATE INDEX contract_metadata_due ON service.contract_metadata (chain_id, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL;
CREATE INDEX contract_metadata_refresh ON service.contract_metadata (chain_id)
  WHERE refresh_requested_at IS NOT NULL AND refresh_applied_at IS NULL;
CREATE INDEX contract_metadata_demanded ON service.contract_metadata (chain_id)
  WHERE demanded_at IS NOT NULL AND queued_at IS NULL;

-- Metadata is read of what readers ask for. The process that answered records the demand, the worker queues it and deletes
-- its row. A crash may lose rows: the next read records them again.
CREATE UNLOGGED TABLE service.metadata_demand (
  chain_id integer NOT NULL,
  -- chain: the newest mints, with twenty zero bytes as address.
  kind text NOT NULL CHECK (kind IN ('token', 'contract', 'account', 'chain')),
  address bytea NOT NULL CHECK (octet_length(address) = 20),
  -- Of a token; else 0.
  token_id numeric(78,0) NOT NULL DEFAULT 0,
  PRIMARY KEY (chain_id, kind, address, token_id)
);

-- What contracts announced as changed, merged: work is made of it once per contract and window.
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

-- How far the worker has read the ledger, per chain. Positions are re-read with an overlap, so a reorganisation loses nothing.
CREATE TABLE service.metadata_cursor (
  chain_id integer PRIMARY KEY,
  mint_block bigint NOT NULL DEFAULT 0,
  update_block bigint NOT NULL DEFAULT 0,
  swept_at timestamptz
);
