-- Several mints of one contract in one transaction. The nonce belongs to one of them, the lead; the others are its members.
-- The operator carries each of them out under its own name or logs why it did not, so each has its own outcome.
ALTER TABLE service.intent
  -- Of a member: the intent whose transaction it is in, or was in once. It stays, so that nothing is put into two.
  ADD COLUMN batch_lead uuid REFERENCES service.intent (id),
  -- Of a lead: the operator's whole call, fixed with the nonce.
  ADD COLUMN batch_call bytea,
  ADD CONSTRAINT intent_batched_check CHECK (state <> 'batched' OR batch_lead IS NOT NULL);
CREATE INDEX intent_batch ON service.intent (batch_lead) WHERE batch_lead IS NOT NULL;
-- What a worker looks at in each round.
CREATE INDEX intent_batched ON service.intent (chain_id, seq) WHERE state = 'batched';

INSERT INTO service.intent_edge VALUES
  ('queued', 'batched'),
  -- The lead's nonce went to something else, or the contract did not stand: it goes on alone.
  ('batched', 'queued'),
  ('batched', 'confirmed'), ('batched', 'failed_onchain'),
  -- The block is gone.
  ('confirmed', 'batched');

DROP TRIGGER intent_found_guard ON service.intent;
CREATE TRIGGER intent_found_guard BEFORE UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (NEW.state = 'confirmed' AND NEW.found_tx IS NULL
    AND OLD.state IN ('queued', 'batched', 'nonce_conflict', 'mined_reverted', 'mined_cancellation'))
  EXECUTE FUNCTION service.guard_found();

CREATE FUNCTION service.guard_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a batch is put together once' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER intent_batch_guard BEFORE UPDATE OF batch_lead, batch_call ON service.intent FOR EACH ROW
  WHEN ((OLD.batch_lead IS NOT NULL AND NEW.batch_lead IS DISTINCT FROM OLD.batch_lead)
    OR (OLD.batch_call IS NOT NULL AND NEW.batch_call IS DISTINCT FROM OLD.batch_call)
    OR (NEW.batch_lead IS NOT NULL AND NEW.batch_call IS NOT NULL))
  EXECUTE FUNCTION service.guard_batch();

-- Members are final with their lead: whatever that comes to, its block is. Who confirms a member holds the reservation
-- meanwhile, and looks at its lead then (src/relay/track/follow-batches.ts).
CREATE FUNCTION service.finalize_members() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  PERFORM FROM service.nonce_reservation s WHERE s.intent_id = NEW.id FOR UPDATE;
  UPDATE service.intent m SET state = 'finalized', version = m.version + 1 FROM service.nonce_reservation s
    WHERE s.intent_id = NEW.id AND m.batch_lead = NEW.id AND m.state = 'confirmed' AND m.found_tx = s.mined_attempt;
  RETURN NULL;
END $$;
CREATE TRIGGER intent_finalize_members AFTER UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (NEW.batch_call IS NOT NULL AND OLD.state <> NEW.state
    AND NEW.state IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried'))
  EXECUTE FUNCTION service.finalize_members();

-- What the members of a batch have set aside becomes their lead's: its transaction is what they cost. All of it counts in
-- the lead's hour and day.
CREATE FUNCTION service.join_entries(lead uuid, members uuid[]) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  entry service.budget_entry;
  own service.budget_entry;
BEGIN
  -- Amounts that change their hour or day: in the order in which everybody takes the rows of limits.
  PERFORM FROM service.budget b WHERE (b.scope, b.period) IN (
    SELECT e.scope, e.period FROM service.budget_entry e
    WHERE e.intent_id = ANY (array_append(members, lead)) AND NOT e.settled AND EXISTS (
      SELECT FROM service.budget_entry o WHERE o.intent_id = ANY (array_append(members, lead)) AND NOT o.settled
        AND o.scope = e.scope AND o.period <> e.period))
    ORDER BY b.scope, b.period FOR UPDATE;
  FOR entry IN
    SELECT * FROM service.budget_entry e WHERE e.intent_id = ANY (members) AND NOT e.settled
    ORDER BY e.scope, e.period, e.intent_id FOR UPDATE
  LOOP
    INSERT INTO service.budget_entry AS e (intent_id, scope, period, amount)
      VALUES (lead, entry.scope, entry.period, entry.amount)
      ON CONFLICT (intent_id, scope) DO UPDATE SET amount = e.amount + excluded.amount RETURNING * INTO own;
    IF own.period <> entry.period THEN
      UPDATE service.budget b SET reserved = b.reserved - entry.amount
        WHERE b.scope = entry.scope AND b.period = entry.period;
      UPDATE service.budget b SET reserved = b.reserved + entry.amount,
        allowed = greatest(b.allowed, b.reserved + entry.amount + b.spent)
        WHERE b.scope = own.scope AND b.period = own.period;
    END IF;
    UPDATE service.budget_entry e SET settled = true, spent = 0, amount = 0
      WHERE e.intent_id = entry.intent_id AND e.scope = entry.scope;
  END LOOP;
END $$;
