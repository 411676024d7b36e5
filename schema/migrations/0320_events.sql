-- Events for whoever listens: each is written in the transaction that causes it (into event_new), gets its place in one
-- order when that transaction is committed (event), and is kept for some days.

-- Whose events are written: chains and contracts that somebody listens to. A row lasts until expires_at and is renewed
-- as long as a stream is open or a webhook is there.
CREATE TABLE service.event_interest (
  chain_id integer NOT NULL,
  -- Empty: all contracts of the chain.
  contract bytea NOT NULL CHECK (octet_length(contract) IN (0, 20)),
  finality text NOT NULL CHECK (finality IN ('latest', 'safe', 'finalized')),
  -- All events after this one were written: a cursor of before cannot be resumed.
  since bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (chain_id, contract, finality)
);
ALTER TABLE service.event_interest ENABLE ROW LEVEL SECURITY;

-- The schemas of the index that write events, and how far what became safe and final was told.
CREATE TABLE service.event_index (
  schema_name text PRIMARY KEY,
  chain_id integer NOT NULL,
  -- From a start of Ponder until it has caught up: it takes rows out to write most of them again.
  settling boolean NOT NULL DEFAULT false,
  safe_block bigint NOT NULL,
  final_block bigint NOT NULL
);
ALTER TABLE service.event_index ENABLE ROW LEVEL SECURITY;

-- Ledger rows that were taken out and may come back.
CREATE TABLE service.event_withdrawn (
  schema_name text NOT NULL,
  chain_id integer NOT NULL,
  block_number bigint NOT NULL,
  log_index integer NOT NULL,
  batch_index integer NOT NULL,
  block_hash bytea NOT NULL,
  block_timestamp bigint NOT NULL,
  tx_hash bytea NOT NULL,
  contract bytea NOT NULL,
  token_id numeric(78,0) NOT NULL,
  from_address bytea NOT NULL,
  to_address bytea NOT NULL,
  amount numeric(78,0) NOT NULL,
  standard text NOT NULL,
  -- It was told as safe.
  was_safe boolean NOT NULL,
  -- The same row was written again.
  kept boolean NOT NULL DEFAULT false,
  PRIMARY KEY (schema_name, block_number, log_index, batch_index, block_hash)
);
ALTER TABLE service.event_withdrawn ENABLE ROW LEVEL SECURITY;

-- How often a log was taken back. A block that leaves the chain and returns is told anew, under another id.
CREATE TABLE service.event_retraction (
  chain_id integer NOT NULL,
  block_hash bytea NOT NULL,
  log_index integer NOT NULL,
  batch_index integer NOT NULL,
  count integer NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (chain_id, block_hash, log_index, batch_index)
);
CREATE INDEX event_retraction_at ON service.event_retraction (at);
ALTER TABLE service.event_retraction ENABLE ROW LEVEL SECURITY;

-- The last number that was given.
CREATE TABLE service.event_head (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  sequence bigint NOT NULL DEFAULT 0
);
INSERT INTO service.event_head DEFAULT VALUES;
ALTER TABLE service.event_head ENABLE ROW LEVEL SECURITY;
CREATE POLICY reading ON service.event_head FOR SELECT USING (true);

CREATE TABLE service.event (
  sequence bigint NOT NULL,
  -- When it was numbered.
  at timestamptz NOT NULL,
  type text NOT NULL,
  -- The same event has the same id for ever.
  id text NOT NULL,
  -- Null: everybody may see it, unless it is the operator's.
  account_id uuid,
  for_operator boolean NOT NULL DEFAULT false,
  chain_id integer,
  -- Null: it does not become more final.
  finality text CHECK (finality IN ('latest', 'safe', 'finalized')),
  contract bytea,
  token_id numeric(78,0),
  from_address bytea,
  to_address bytea,
  amount numeric(78,0),
  standard text,
  block_number bigint,
  block_hash bytea,
  block_timestamp bigint,
  tx_hash bytea,
  log_index integer,
  batch_index integer,
  kind text,
  -- The id that is taken back.
  retracts text,
  -- What is told beside the columns; json keeps the order of its members.
  data json,
  PRIMARY KEY (sequence, at)
) PARTITION BY RANGE (at);
CREATE INDEX event_id ON service.event (id);
CREATE INDEX event_block ON service.event (chain_id, block_number) WHERE block_number IS NOT NULL;
-- Rows of a day that has no partition: those of a restored backup.
CREATE TABLE service.event_default PARTITION OF service.event DEFAULT;
ALTER TABLE service.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE service.event_default ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON service.event FOR SELECT
  USING (NOT for_operator AND (account_id IS NULL OR account_id = (SELECT service.tenant())));

-- Events of transactions that may be under way still; without a number.
CREATE TABLE service.event_new (
  n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type text NOT NULL,
  id text NOT NULL,
  account_id uuid,
  for_operator boolean NOT NULL DEFAULT false,
  chain_id integer,
  finality text,
  contract bytea,
  token_id numeric(78,0),
  from_address bytea,
  to_address bytea,
  amount numeric(78,0),
  standard text,
  block_number bigint,
  block_hash bytea,
  block_timestamp bigint,
  tx_hash bytea,
  log_index integer,
  batch_index integer,
  kind text,
  retracts text,
  data json
);
ALTER TABLE service.event_new ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION service.wake_event_readers() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  PERFORM pg_catalog.pg_notify('mintyard_events', '');
  RETURN NULL;
END $$;
CREATE TRIGGER event_new_wake AFTER INSERT ON service.event_new
  FOR EACH STATEMENT EXECUTE FUNCTION service.wake_event_readers();

-- Makes the partition of a day, where the rows of that day do not lie in the default partition already.
CREATE FUNCTION service.make_event_day(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  name text := 'event_' || to_char(day, 'YYYYMMDD');
BEGIN
  IF to_regclass('service.' || name) IS NOT NULL THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE service.%I (LIKE service.event INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name);
  EXECUTE format('ALTER TABLE service.%I ENABLE ROW LEVEL SECURITY', name);
  EXECUTE format('ALTER TABLE service.event ATTACH PARTITION service.%I FOR VALUES FROM (%L) TO (%L)', name,
    day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
EXCEPTION WHEN check_violation OR duplicate_table THEN NULL;
END $$;

-- Gives committed events their numbers, in the order of their commits: whoever has read a number never sees a smaller one
-- appear. The lock of event_head makes callers take turns; no number is left out.
-- Returns the last number, and whether there may be more to do.
CREATE FUNCTION service.number_events(most integer, OUT head bigint, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  now_at timestamptz;
  moved bigint;
BEGIN
  SELECT sequence INTO head FROM service.event_head;
  more := false;
  IF NOT EXISTS (SELECT FROM service.event_new) THEN RETURN; END IF;
  SELECT sequence INTO head FROM service.event_head FOR UPDATE;
  now_at := clock_timestamp();
  PERFORM service.make_event_day((now_at AT TIME ZONE 'UTC')::date);
  WITH taken AS (
    DELETE FROM service.event_new WHERE n IN (SELECT n FROM service.event_new ORDER BY n LIMIT most) RETURNING *)
  INSERT INTO service.event (sequence, at, type, id, account_id, for_operator, chain_id, finality, contract, token_id,
      from_address, to_address, amount, standard, block_number, block_hash, block_timestamp, tx_hash, log_index,
      batch_index, kind, retracts, data)
    SELECT head + row_number() OVER (ORDER BY n), now_at, type, id, account_id, for_operator, chain_id, finality, contract,
      token_id, from_address, to_address, amount, standard, block_number, block_hash, block_timestamp, tx_hash, log_index,
      batch_index, kind, retracts, data
    FROM taken;
  GET DIAGNOSTICS moved = ROW_COUNT;
  head := head + moved;
  more := moved = most;
  UPDATE service.event_head SET sequence = head;
END $$;

-- What a process reads once for all its listeners. Of an account's events only whose they are and where: their content
-- is read for the account itself.
CREATE FUNCTION service.events_after(after bigint, most integer) RETURNS SETOF service.event
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT e.sequence, e.at, e.type, e.id, e.account_id, e.for_operator, e.chain_id, e.finality, e.contract, e.token_id,
    e.from_address, e.to_address, e.amount, e.standard, e.block_number, e.block_hash, e.block_timestamp, e.tx_hash,
    e.log_index, e.batch_index, e.kind, e.retracts, CASE WHEN e.account_id IS NULL THEN e.data END
  FROM service.event e WHERE e.sequence > after AND NOT e.for_operator ORDER BY e.sequence LIMIT most
$$;

-- Has events of contracts written from now on (none named: of the whole chain), for `seconds`. Too many contracts count as
-- the whole chain.
CREATE FUNCTION service.want_events(chain integer, contracts bytea[], level text, seconds integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF cardinality(contracts) = 0 OR (SELECT count(*) FROM service.event_interest WHERE chain_id = chain) > 20000 THEN
    contracts := ARRAY['\x'::bytea];
  END IF;
  INSERT INTO service.event_interest AS i (chain_id, contract, finality, since, expires_at)
    SELECT chain, c, level, h.sequence, clock_timestamp() + least(seconds, 604800) * interval '1 second'
    FROM (SELECT DISTINCT unnest(contracts) AS c ORDER BY 1) x, service.event_head h
    ON CONFLICT (chain_id, contract, finality) DO UPDATE SET
      since = CASE WHEN i.expires_at < clock_timestamp() THEN excluded.since ELSE i.since END,
      expires_at = greatest(i.expires_at, excluded.expires_at);
END $$;

-- From which number on no event of these is missing; null: nobody asked for them.
CREATE FUNCTION service.events_since(chain integer, of bytea, level text) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
  SELECT min(since) FROM service.event_interest
  WHERE chain_id = chain AND finality = level AND contract IN ('\x', of) AND expires_at > clock_timestamp()
$$;

-- Without a search path of its own, and no less volatile than what it calls: so it becomes a part of the statement that
-- calls it for each row.
CREATE FUNCTION service.event_id(VARIADIC parts text[]) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'evt_' || pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(
    pg_catalog.convert_to(pg_catalog.array_to_string(parts, ':'), 'UTF8')), 'hex'), 32)
$$;

-- Writes an event that is no movement of a token. `key` makes its id: the same key is the same event.
CREATE FUNCTION service.record_event(type text, key text, account uuid, for_operator boolean, chain integer, contract bytea,
  token_id numeric, data json) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = '' AS $$
  INSERT INTO service.event_new (type, id, account_id, for_operator, chain_id, contract, token_id, data)
    VALUES (type, service.event_id(type, key), account, for_operator, chain, contract, token_id, data)
$$;

-- The same.
CREATE FUNCTION service.movement_kind(sender bytea, receiver bytea) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN sender = '\x0000000000000000000000000000000000000000' THEN 'MINT'
    WHEN receiver = '\x0000000000000000000000000000000000000000' THEN 'BURN' ELSE 'TRANSFER' END
$$;

CREATE FUNCTION service.event_is_wanted(chain integer, of bytea, level text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = '' AS $$
  SELECT EXISTS (SELECT FROM service.event_interest i WHERE i.chain_id = chain AND i.finality = level
    AND i.contract = '\x' AND i.expires_at > now())
  OR EXISTS (SELECT FROM service.event_interest i WHERE i.chain_id = chain AND i.finality = level
    AND i.contract = of AND i.expires_at > now())
$$;

-- Tells that withdrawn rows are gone: those below a block (null: all of them). The newest first, as one undoes.
CREATE FUNCTION service.tell_withdrawn(name text, below bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM service.event_withdrawn WHERE schema_name = name AND NOT kept
      AND (below IS NULL OR block_number < below)) THEN RETURN; END IF;
  WITH counted AS (
    INSERT INTO service.event_retraction AS r (chain_id, block_hash, log_index, batch_index, count)
      SELECT chain_id, block_hash, log_index, batch_index, 1 FROM service.event_withdrawn
      WHERE schema_name = name AND NOT kept AND (below IS NULL OR block_number < below)
      ON CONFLICT (chain_id, block_hash, log_index, batch_index) DO UPDATE SET count = r.count + 1, at = clock_timestamp()
      RETURNING r.*)
  INSERT INTO service.event_new (type, id, chain_id, finality, contract, token_id, from_address, to_address, amount, standard,
      block_number, block_hash, block_timestamp, tx_hash, log_index, batch_index, kind, retracts)
    SELECT 'nft.transfer.retracted',
      service.event_id('nft.transfer.retracted', w.chain_id::text, encode(w.block_hash, 'hex'), w.log_index::text, w.batch_index::text, (c.count - 1)::text),
      w.chain_id, f.level, w.contract, w.token_id, w.from_address, w.to_address, w.amount, w.standard,
      w.block_number, w.block_hash, w.block_timestamp, w.tx_hash, w.log_index, w.batch_index,
      service.movement_kind(w.from_address, w.to_address),
      service.event_id('nft.transfer', w.chain_id::text, encode(w.block_hash, 'hex'), w.log_index::text, w.batch_index::text, (c.count - 1)::text)
    FROM service.event_withdrawn w
    JOIN counted c USING (chain_id, block_hash, log_index, batch_index)
    CROSS JOIN (VALUES ('latest'), ('safe')) AS f (level)
    WHERE w.schema_name = name AND NOT w.kept AND (below IS NULL OR w.block_number < below)
      AND (f.level = 'latest' OR w.was_safe)
      AND service.event_is_wanted(w.chain_id, w.contract, f.level)
    ORDER BY w.block_number DESC, w.log_index DESC, w.batch_index DESC;
  UPDATE service.event_index SET safe_block = least(safe_block, (SELECT min(block_number) - 1 FROM service.event_withdrawn
      WHERE schema_name = name AND NOT kept AND (below IS NULL OR block_number < below)))
    WHERE schema_name = name;
  DELETE FROM service.event_withdrawn
    WHERE schema_name = name AND NOT kept AND (below IS NULL OR block_number < below);
END $$;

-- Of a chain's ledger, for each statement. Ranges (batch index -1) are told as the tokens that a trigger puts in their place.
CREATE FUNCTION service.tell_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
  whole boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM rows) OR EXISTS (SELECT FROM rows WHERE batch_index < 0) THEN RETURN NULL; END IF;
  SELECT i.* INTO told FROM service.event_index i JOIN nft.index_version d USING (schema_name)
    WHERE i.schema_name = TG_TABLE_SCHEMA AND d.live;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF told.settling THEN
    UPDATE service.event_withdrawn w SET kept = true FROM rows r
      WHERE w.schema_name = TG_TABLE_SCHEMA AND w.block_number = r.block_number AND w.log_index = r.log_index
        AND w.batch_index = r.batch_index AND w.block_hash = r.block_hash;
    -- Rows come in the chain's order: what has not come back below these will not come.
    PERFORM service.tell_withdrawn(TG_TABLE_SCHEMA, (SELECT max(block_number) FROM rows));
  END IF;
  -- Null: nobody wants anything of this chain. True: somebody wants all, so no row has to be looked up.
  SELECT bool_or(contract = '\x') INTO whole FROM service.event_interest
    WHERE chain_id = told.chain_id AND finality = 'latest' AND expires_at > now();
  IF whole IS NOT NULL THEN
    INSERT INTO service.event_new (type, id, chain_id, finality, contract, token_id, from_address, to_address, amount,
        standard, block_number, block_hash, block_timestamp, tx_hash, log_index, batch_index, kind)
      SELECT 'nft.transfer',
        service.event_id('nft.transfer', told.chain_id::text, encode(r.block_hash, 'hex'), r.log_index::text, r.batch_index::text, coalesce(b.count, 0)::text),
        told.chain_id, 'latest', r.contract, r.token_id, r.from_address, r.to_address, r.amount, r.standard, r.block_number,
        r.block_hash, r.block_timestamp, r.tx_hash, r.log_index, r.batch_index,
        service.movement_kind(r.from_address, r.to_address)
      FROM rows r
      LEFT JOIN service.event_retraction b ON b.chain_id = told.chain_id AND b.block_hash = r.block_hash
        AND b.log_index = r.log_index AND b.batch_index = r.batch_index
      WHERE r.block_number > told.final_block
        AND (whole OR EXISTS (SELECT FROM service.event_interest i WHERE i.chain_id = told.chain_id AND i.finality = 'latest'
          AND i.contract = r.contract AND i.expires_at > now()))
        AND NOT EXISTS (SELECT FROM service.event_withdrawn w WHERE w.schema_name = TG_TABLE_SCHEMA AND w.kept
          AND w.block_number = r.block_number AND w.log_index = r.log_index AND w.batch_index = r.batch_index
          AND w.block_hash = r.block_hash)
      ORDER BY r.block_number, r.log_index, r.batch_index;
  END IF;
  -- Blocks without movements were replaced in silence: what takes their place is not safe yet.
  UPDATE service.event_index i SET safe_block = n.first - 1
    FROM (SELECT min(r.block_number) AS first FROM rows r WHERE r.block_number > told.final_block
      AND NOT EXISTS (SELECT FROM service.event_withdrawn w WHERE w.schema_name = TG_TABLE_SCHEMA AND w.kept
        AND w.block_number = r.block_number AND w.log_index = r.log_index AND w.batch_index = r.batch_index
        AND w.block_hash = r.block_hash)) n
    WHERE i.schema_name = TG_TABLE_SCHEMA AND i.safe_block >= n.first;
  IF told.settling THEN
    DELETE FROM service.event_withdrawn WHERE schema_name = TG_TABLE_SCHEMA AND kept;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION service.tell_removed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
BEGIN
  -- Deeper, it is a range that is written again as its tokens.
  IF pg_trigger_depth() > 1 OR NOT EXISTS (SELECT FROM rows) THEN RETURN NULL; END IF;
  SELECT i.* INTO told FROM service.event_index i JOIN nft.index_version d USING (schema_name)
    WHERE i.schema_name = TG_TABLE_SCHEMA AND d.live;
  IF NOT FOUND THEN RETURN NULL; END IF;
  INSERT INTO service.event_withdrawn (schema_name, chain_id, block_number, log_index, batch_index, block_hash, block_timestamp,
      tx_hash, contract, token_id, from_address, to_address, amount, standard, was_safe)
    SELECT TG_TABLE_SCHEMA, told.chain_id, block_number, log_index, batch_index, block_hash, block_timestamp, tx_hash, contract,
      token_id, from_address, to_address, amount, standard, block_number <= told.safe_block
    FROM rows WHERE batch_index >= 0 AND block_number > told.final_block
    ON CONFLICT DO NOTHING;
  IF NOT told.settling THEN PERFORM service.tell_withdrawn(TG_TABLE_SCHEMA, NULL); END IF;
  RETURN NULL;
END $$;

-- Tells which blocks became safe or final, with their movements for whoever waits for that. The ledger is read, not the
-- events of before: so nobody is told as final what the ledger does not have.
CREATE FUNCTION service.tell_settled(name text, level text, upto bigint, hash text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
  first bigint;
BEGIN
  SELECT i.* INTO told FROM service.event_index i JOIN nft.index_version d USING (schema_name)
    WHERE i.schema_name = name AND d.live AND NOT i.settling FOR UPDATE OF i;
  IF NOT FOUND THEN RETURN; END IF;
  first := CASE level WHEN 'safe' THEN told.safe_block ELSE told.final_block END + 1;
  IF upto < first THEN RETURN; END IF;
  -- What is final is safe, also where the node's safe block was not seen in between.
  IF level = 'finalized' THEN PERFORM service.tell_settled(name, 'safe', upto, hash); END IF;
  IF EXISTS (SELECT FROM service.event_interest WHERE chain_id = told.chain_id AND finality = level AND expires_at > now()) THEN
    EXECUTE format($sql$
      INSERT INTO service.event_new (type, id, chain_id, finality, contract, token_id, from_address, to_address, amount,
          standard, block_number, block_hash, block_timestamp, tx_hash, log_index, batch_index, kind)
        SELECT 'nft.transfer',
          service.event_id('nft.transfer', $1::text, encode(r.block_hash, 'hex'), r.log_index::text, r.batch_index::text, coalesce(b.count, 0)::text),
          $1, $2, r.contract, r.token_id, r.from_address, r.to_address, r.amount, r.standard, r.block_number, r.block_hash,
          r.block_timestamp, r.tx_hash, r.log_index, r.batch_index, service.movement_kind(r.from_address, r.to_address)
        FROM %I.transfer r
        LEFT JOIN service.event_retraction b ON b.chain_id = $1 AND b.block_hash = r.block_hash
          AND b.log_index = r.log_index AND b.batch_index = r.batch_index
        WHERE r.block_number BETWEEN $3 AND $4 AND EXISTS (SELECT FROM service.event_interest i WHERE i.chain_id = $1
          AND i.finality = $2 AND i.contract IN ('\x', r.contract) AND i.expires_at > now())
        ORDER BY r.block_number, r.log_index, r.batch_index$sql$, name)
      USING told.chain_id, level, first, upto;
  END IF;
  IF level = 'safe' THEN
    UPDATE service.event_index SET safe_block = upto WHERE schema_name = name;
  ELSE
    UPDATE service.event_index SET final_block = upto WHERE schema_name = name;
    IF EXISTS (SELECT FROM service.event_interest WHERE chain_id = told.chain_id AND expires_at > now()) THEN
      PERFORM service.record_event('chain.finalized', concat_ws(':', told.chain_id, upto, hash), NULL, false, told.chain_id, NULL, NULL,
        json_build_object('from', first::text, 'to', upto::text, 'hash', hash));
    END IF;
  END IF;
END $$;

-- Deployments, updates and whatever else the relay does for an account: `deployment.confirmed`, `update.held`.
CREATE FUNCTION service.tell_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  place bytea := CASE WHEN NEW.kind <> 'deploy' OR NEW.state IN ('confirmed', 'finalized') THEN NEW.predicted_addr END;
BEGIN
  PERFORM service.record_event(
    CASE NEW.kind WHEN 'deploy' THEN 'deployment' ELSE NEW.kind END || '.' || NEW.state,
    concat_ws(':', NEW.id, NEW.version), NEW.tenant_id, false, NEW.chain_id, place, NULL,
    json_build_object('object', NEW.id, 'state', NEW.state, 'version', NEW.version, 'holdReason', NEW.hold_reason,
      'contract', '0x' || encode(place, 'hex')));
  RETURN NULL;
END $$;
CREATE TRIGGER intent_tell_new AFTER INSERT ON service.intent FOR EACH ROW EXECUTE FUNCTION service.tell_intent();
CREATE TRIGGER intent_tell AFTER UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION service.tell_intent();

CREATE FUNCTION service.tell_metadata() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  IF NOT service.event_is_wanted(NEW.chain_id, NEW.contract, 'latest')
    AND NOT service.event_is_wanted(NEW.chain_id, NEW.contract, 'safe')
    AND NOT service.event_is_wanted(NEW.chain_id, NEW.contract, 'finalized') THEN RETURN NULL; END IF;
  PERFORM service.record_event(CASE NEW.status WHEN 'fresh' THEN 'metadata.updated' ELSE 'metadata.failed' END,
    concat_ws(':', NEW.chain_id, encode(NEW.contract, 'hex'), NEW.token_id, extract(epoch FROM clock_timestamp())),
    NULL, false, NEW.chain_id, NEW.contract, NEW.token_id,
    json_build_object('contract', '0x' || encode(NEW.contract, 'hex'), 'tokenId', NEW.token_id::text,
      'blockNumber', NEW.fetched_block::text, 'errorCode', NEW.error_code));
  RETURN NULL;
END $$;
CREATE TRIGGER metadata_tell AFTER UPDATE OF status, metadata_hash ON service.token_metadata FOR EACH ROW
  WHEN ((NEW.status = 'fresh' AND OLD.metadata_hash IS DISTINCT FROM NEW.metadata_hash)
    OR (NEW.status = 'failed' AND OLD.status <> 'failed'))
  EXECUTE FUNCTION service.tell_metadata();

CREATE FUNCTION service.tell_wallet() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  PERFORM service.record_event(CASE NEW.state WHEN 'halted' THEN 'wallet.halted' ELSE 'wallet.low_balance' END,
    concat_ws(':', NEW.chain_id, encode(NEW.addr, 'hex'), extract(epoch FROM clock_timestamp())), NULL, true, NEW.chain_id, NULL, NULL,
    json_build_object('wallet', '0x' || encode(NEW.addr, 'hex'), 'state', NEW.state));
  RETURN NULL;
END $$;
CREATE TRIGGER relayer_wallet_tell AFTER UPDATE OF state ON service.relayer_wallet FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.state IN ('paused_funds', 'halted'))
  EXECUTE FUNCTION service.tell_wallet();

-- A newer index takes the place of one that was read until now: what the two differ in above the final block is told, in
-- the transaction that publishes it. The caller has locked the newer one's ledger.
CREATE FUNCTION service.switch_event_index(old_name text, new_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
BEGIN
  SELECT * INTO told FROM service.event_index WHERE schema_name = old_name;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO service.event_index (schema_name, chain_id, safe_block, final_block)
    VALUES (new_name, told.chain_id, told.safe_block, told.final_block)
    ON CONFLICT (schema_name) DO UPDATE SET safe_block = excluded.safe_block, final_block = excluded.final_block;
  EXECUTE format($sql$
    INSERT INTO service.event_withdrawn (schema_name, chain_id, block_number, log_index, batch_index, block_hash,
        block_timestamp, tx_hash, contract, token_id, from_address, to_address, amount, standard, was_safe)
      SELECT $1, $2, o.block_number, o.log_index, o.batch_index, o.block_hash, o.block_timestamp, o.tx_hash, o.contract,
        o.token_id, o.from_address, o.to_address, o.amount, o.standard, o.block_number <= $4
      FROM %1$I.transfer o LEFT JOIN %2$I.transfer n USING (block_number, log_index, batch_index)
      WHERE o.block_number > $3 AND o.block_hash IS DISTINCT FROM n.block_hash
      ON CONFLICT DO NOTHING$sql$, old_name, new_name)
    USING new_name, told.chain_id, told.final_block, told.safe_block;
  PERFORM service.tell_withdrawn(new_name, NULL);
  EXECUTE format($sql$
    INSERT INTO service.event_new (type, id, chain_id, finality, contract, token_id, from_address, to_address, amount,
        standard, block_number, block_hash, block_timestamp, tx_hash, log_index, batch_index, kind)
      SELECT 'nft.transfer',
        service.event_id('nft.transfer', $1::text, encode(r.block_hash, 'hex'), r.log_index::text, r.batch_index::text, coalesce(b.count, 0)::text),
        $1, 'latest', r.contract, r.token_id, r.from_address, r.to_address, r.amount, r.standard, r.block_number, r.block_hash,
        r.block_timestamp, r.tx_hash, r.log_index, r.batch_index, service.movement_kind(r.from_address, r.to_address)
      FROM %2$I.transfer r LEFT JOIN %1$I.transfer o USING (block_number, log_index, batch_index)
      LEFT JOIN service.event_retraction b ON b.chain_id = $1 AND b.block_hash = r.block_hash
        AND b.log_index = r.log_index AND b.batch_index = r.batch_index
      WHERE r.block_number > $2 AND r.block_hash IS DISTINCT FROM o.block_hash
        AND EXISTS (SELECT FROM service.event_interest i WHERE i.chain_id = $1 AND i.finality = 'latest'
          AND i.contract IN ('\x', r.contract) AND i.expires_at > now())
      ORDER BY r.block_number, r.log_index, r.batch_index$sql$, old_name, new_name)
    USING told.chain_id, told.final_block;
END $$;
