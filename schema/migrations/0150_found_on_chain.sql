-- What a database that was restored, or that lost its end in a failover, does not know of its wallets' transactions.

-- In which database the nonces that wait in mempools were last asked for. Another server, a restart, a copy and rows
-- that were put back are all another one: then the counter may stand at nonces that are in use already.
ALTER TABLE service.relayer_wallet ADD COLUMN basis text;
CREATE FUNCTION service.incarnation() RETURNS text LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT pg_catalog.concat_ws(' ', pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()),
    (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()),
    pg_catalog.pg_relation_filenode('service.relayer_wallet'))
$$;

-- The nonce was found in use, in a mempool or in a block, and nobody remembered by whom.
ALTER TABLE service.nonce_reservation ADD COLUMN found boolean NOT NULL DEFAULT false;
-- Root of the request that the transaction found there deploys; its own row may be lost.
ALTER TABLE service.nonce_reservation ADD COLUMN found_root uuid;
CREATE INDEX nonce_reservation_unclaimed ON service.nonce_reservation (chain_id, addr, nonce) WHERE found AND intent_id IS NULL AND state = 'open';
CREATE INDEX nonce_reservation_found_root ON service.nonce_reservation (found_root) WHERE found_root IS NOT NULL;

-- The transaction that made the collection, where it is none of the intent's own nonce.
ALTER TABLE service.intent ADD COLUMN found_tx bytea CHECK (octet_length(found_tx) = 32);
CREATE INDEX intent_found_tx ON service.intent (found_tx) WHERE found_tx IS NOT NULL;

INSERT INTO service.intent_edge VALUES
  -- Its collection stands for good, by another transaction than the intent's own.
  ('queued', 'confirmed'), ('nonce_conflict', 'confirmed'), ('mined_reverted', 'confirmed'), ('mined_cancellation', 'confirmed'),
  -- Something else stands there for good.
  ('queued', 'failed_onchain'), ('nonce_conflict', 'failed_onchain'), ('mined', 'failed_onchain');

-- Those ways to `confirmed` are for a collection that another transaction made, and that one is named.
CREATE FUNCTION service.guard_found() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an intent cannot go from % to % without the transaction that was found', OLD.state, NEW.state
    USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER intent_found_guard BEFORE UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (NEW.state = 'confirmed' AND NEW.found_tx IS NULL
    AND OLD.state IN ('queued', 'nonce_conflict', 'mined_reverted', 'mined_cancellation'))
  EXECUTE FUNCTION service.guard_found();
