-- A nonce that was found used on the chain while nobody remembered the request (a restored database) has a
-- reservation without an intent. When its client asks again, the request comes back, and may take its reservation.
CREATE OR REPLACE FUNCTION service.guard_nonce_reservation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'nonce reservations are never deleted' USING ERRCODE = 'restrict_violation';
  END IF;
  IF (NEW.chain_id, NEW.addr, NEW.nonce) IS DISTINCT FROM (OLD.chain_id, OLD.addr, OLD.nonce)
     OR (OLD.intent_id IS NOT NULL AND NEW.intent_id IS DISTINCT FROM OLD.intent_id) THEN
    RAISE EXCEPTION 'a nonce keeps its intent for ever' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
