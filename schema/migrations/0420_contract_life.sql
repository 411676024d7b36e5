-- What a contract tells of itself changes: when it announces that (ERC-7572), when this service changed it, and without a word.
ALTER TABLE service.contract_metadata
  -- The row is stale until it was read at this block or a later one.
  ADD COLUMN wanted_block bigint,
  -- Readings in a row that found nothing new; each doubles the time to the next.
  ADD COLUMN unchanged integer NOT NULL DEFAULT 0;

-- Products announce no change of their royalties, so the transaction itself does. Reading takes place at its block or later.
CREATE FUNCTION service.reread_updated_contract() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE service.contract_metadata c SET wanted_block = NEW.mined_block, attempts = 0, unchanged = 0,
    next_attempt_at = CASE WHEN c.lease_until > clock_timestamp() THEN c.next_attempt_at ELSE clock_timestamp() END
  FROM service.intent i
  WHERE i.id = NEW.intent_id AND i.kind IN ('update', 'contract_update')
    AND c.chain_id = i.chain_id AND c.address = i.predicted_addr
    AND coalesce(c.fetched_block < NEW.mined_block, true) AND coalesce(c.wanted_block < NEW.mined_block, true);
  RETURN NULL;
END $$;
CREATE TRIGGER nonce_reservation_reread AFTER UPDATE OF mined_block ON service.nonce_reservation FOR EACH ROW
  WHEN (NEW.mined_block IS NOT NULL AND NEW.intent_id IS NOT NULL AND NEW.kind IN ('update', 'operate'))
  EXECUTE FUNCTION service.reread_updated_contract();

-- Contracts that were read before are read again, spread over a week.
UPDATE service.contract_metadata SET next_attempt_at = clock_timestamp() + random() * interval '7 days'
  WHERE next_attempt_at IS NULL;
