-- Transfers of an ERC-20 that indexes their value have ERC-721's logs, and are no events of tokens: docs/indexing.md. As the index does,
-- these functions leave them out as soon as that is known; the rest of each is as before.

-- Few contracts, looked for by the indexer and for each movement that is told.
CREATE INDEX contract_metadata_fungible ON service.contract_metadata (chain_id, address) WHERE fungible;

-- Without a search path of its own, so that it becomes a part of the statement that calls it for each row.
CREATE FUNCTION service.is_fungible(chain integer, of bytea, standard text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT standard = 'ERC721' AND EXISTS (SELECT FROM service.contract_metadata m
    WHERE m.chain_id = chain AND m.address = of AND m.fungible)
$$;

CREATE FUNCTION service.was_told(event text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM service.event e WHERE e.id = event) OR EXISTS (SELECT FROM service.event_new n WHERE n.id = event)
$$;

CREATE OR REPLACE FUNCTION service.tell_withdrawn(name text, below bigint) RETURNS void
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
      -- What was told before it was known is taken back like any other.
      AND (NOT service.is_fungible(w.chain_id, w.contract, w.standard) OR service.was_told(
        service.event_id('nft.transfer', w.chain_id::text, encode(w.block_hash, 'hex'), w.log_index::text, w.batch_index::text, (c.count - 1)::text)))
    ORDER BY w.block_number DESC, w.log_index DESC, w.batch_index DESC;
  UPDATE service.event_index SET safe_block = least(safe_block, (SELECT min(block_number) - 1 FROM service.event_withdrawn
      WHERE schema_name = name AND NOT kept AND (below IS NULL OR block_number < below)))
    WHERE schema_name = name;
  DELETE FROM service.event_withdrawn
    WHERE schema_name = name AND NOT kept AND (below IS NULL OR block_number < below);
END $$;

CREATE OR REPLACE FUNCTION service.tell_added() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
  whole boolean;
BEGIN
  IF NOT EXISTS (SELECT FROM rows) OR EXISTS (SELECT FROM rows WHERE batch_index < 0) THEN RETURN NULL; END IF;
  SELECT i.* INTO told FROM service.event_index i JOIN nft.index_version d USING (schema_name)
    WHERE i.schema_name = TG_TABLE_SCHEMA AND d.live FOR NO KEY UPDATE OF i;
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
        AND NOT service.is_fungible(told.chain_id, r.contract, r.standard)
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

CREATE OR REPLACE FUNCTION service.tell_settled(name text, level text, upto bigint, hash text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
  first bigint;
BEGIN
  -- First, as a reorganisation does: it takes the table, and then the row of its index.
  IF to_regclass(format('%I.transfer', name)) IS NULL THEN RETURN; END IF;
  EXECUTE format('LOCK TABLE %I.transfer IN ACCESS SHARE MODE', name);
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
          AND NOT service.is_fungible($1, r.contract, r.standard)
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

CREATE OR REPLACE FUNCTION service.switch_event_index(old_name text, new_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  told service.event_index;
BEGIN
  EXECUTE format('LOCK TABLE %I.transfer IN ACCESS SHARE MODE', old_name);
  SELECT * INTO told FROM service.event_index WHERE schema_name = old_name FOR NO KEY UPDATE;
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
  -- What the older one had taken out when it was stopped, and nobody was told of.
  EXECUTE format($sql$
    INSERT INTO service.event_withdrawn (schema_name, chain_id, block_number, log_index, batch_index, block_hash,
        block_timestamp, tx_hash, contract, token_id, from_address, to_address, amount, standard, was_safe)
      SELECT $2, w.chain_id, w.block_number, w.log_index, w.batch_index, w.block_hash, w.block_timestamp, w.tx_hash, w.contract,
        w.token_id, w.from_address, w.to_address, w.amount, w.standard, w.was_safe
      FROM service.event_withdrawn w
      WHERE w.schema_name = $1 AND NOT w.kept AND w.block_number > $3 AND NOT EXISTS (SELECT FROM %I.transfer n
        WHERE n.block_number = w.block_number AND n.log_index = w.log_index AND n.batch_index = w.batch_index
          AND n.block_hash = w.block_hash)
      ON CONFLICT DO NOTHING$sql$, new_name)
    USING old_name, new_name, told.final_block;
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
        AND NOT EXISTS (SELECT FROM service.event_withdrawn w WHERE w.schema_name = $3 AND NOT w.kept
          AND w.block_number = r.block_number AND w.log_index = r.log_index AND w.batch_index = r.batch_index
          AND w.block_hash = r.block_hash)
        AND EXISTS (SELECT FROM service.event_interest i WHERE i.chain_id = $1 AND i.finality = 'latest'
          AND i.contract IN ('\x', r.contract) AND i.expires_at > now())
        AND NOT service.is_fungible($1, r.contract, r.standard)
      ORDER BY r.block_number, r.log_index, r.batch_index$sql$, old_name, new_name)
    USING told.chain_id, told.final_block, old_name;
  -- What only the newer one has is not safe yet, whatever was told of its block before.
  EXECUTE format($sql$
    UPDATE service.event_index i SET safe_block = n.first - 1
      FROM (SELECT min(r.block_number) AS first FROM %2$I.transfer r LEFT JOIN %1$I.transfer o USING (block_number, log_index, batch_index)
        WHERE r.block_number > $2 AND r.block_hash IS DISTINCT FROM o.block_hash
          AND NOT EXISTS (SELECT FROM service.event_withdrawn w WHERE w.schema_name = $3 AND NOT w.kept
            AND w.block_number = r.block_number AND w.log_index = r.log_index AND w.batch_index = r.batch_index
            AND w.block_hash = r.block_hash)) n
      WHERE i.schema_name = $1 AND i.safe_block >= n.first$sql$, old_name, new_name)
    USING new_name, told.final_block, old_name;
END $$;
