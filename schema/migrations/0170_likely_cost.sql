-- Spending limits hold what a transaction is likely to cost, and its signed bytes never more than that: whoever needs
-- dearer ones raises the reservation first (service.raise_reservation). What it did cost takes the reservation's place
-- when it is in a block, and a reorganisation puts the reservation back. Scopes in wei: `chain:<id>` and `free:<id>` by
-- hour, `chain-day:<id>` and `free-day:<id>` by day, `tenant:<id>:<chain>` by day; in transactions, by hour: `global`, `free`.

-- What was booked as spent when it was settled, so that a reorganisation can take exactly that back.
ALTER TABLE service.budget_entry ADD COLUMN spent numeric(78, 0) NOT NULL DEFAULT 0 CHECK (spent >= 0);

-- Everything an intent still holds becomes what it cost; null: it never cost anything. A fee that rose is paid by the
-- chain's limits alone: an account is not charged for more than its own limit had room for.
CREATE FUNCTION service.settle_entries(intent uuid, cost numeric) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  entry service.budget_entry;
  used numeric(78, 0);
BEGIN
  FOR entry IN
    SELECT * FROM service.budget_entry e WHERE e.intent_id = intent AND NOT e.settled ORDER BY e.scope FOR UPDATE
  LOOP
    used := CASE
      WHEN cost IS NULL THEN 0
      WHEN entry.scope IN ('global', 'free') THEN 1
      WHEN entry.scope LIKE 'chain%' THEN cost
      ELSE least(cost, entry.amount) END;
    UPDATE service.budget_entry e SET settled = true, spent = used
      WHERE e.intent_id = entry.intent_id AND e.scope = entry.scope;
    UPDATE service.budget b SET
      reserved = b.reserved - entry.amount,
      spent = b.spent + used,
      allowed = greatest(b.allowed, b.reserved - entry.amount + b.spent + used)
    WHERE b.scope = entry.scope AND b.period = entry.period;
  END LOOP;
END $$;

-- The block is gone: the same transaction may cost anything again that its bytes allow.
CREATE FUNCTION service.unsettle_entries(intent uuid) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  entry service.budget_entry;
BEGIN
  FOR entry IN
    SELECT * FROM service.budget_entry e WHERE e.intent_id = intent AND e.settled ORDER BY e.scope FOR UPDATE
  LOOP
    UPDATE service.budget_entry e SET settled = false, spent = 0
      WHERE e.intent_id = entry.intent_id AND e.scope = entry.scope;
    UPDATE service.budget b SET
      reserved = b.reserved + entry.amount,
      spent = b.spent - entry.spent,
      allowed = greatest(b.allowed, b.reserved + entry.amount + b.spent - entry.spent)
    WHERE b.scope = entry.scope AND b.period = entry.period;
  END LOOP;
END $$;

CREATE FUNCTION service.settle_nonce_reservation() RETURNS trigger LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  reservation service.nonce_reservation;
BEGIN
  -- As it is at the end of the transaction, which may have changed it more than once.
  SELECT * INTO reservation FROM service.nonce_reservation s WHERE (s.chain_id, s.addr, s.nonce) = (NEW.chain_id, NEW.addr, NEW.nonce);
  IF reservation.state = 'mined' THEN
    PERFORM service.settle_entries(reservation.intent_id, coalesce(reservation.mined_cost_wei, 0));
  ELSE
    PERFORM service.unsettle_entries(reservation.intent_id);
  END IF;
  RETURN NULL;
END $$;
-- At the commit, so that nobody who spends from the same limits waits for a process.
CREATE CONSTRAINT TRIGGER nonce_reservation_settle AFTER UPDATE ON service.nonce_reservation DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.intent_id IS NOT NULL AND (NEW.state = 'mined' OR OLD.state = 'mined'))
  EXECUTE FUNCTION service.settle_nonce_reservation();

-- What ends without a block gives back all of it; what was in a block before this migration is settled here, too.
CREATE OR REPLACE FUNCTION service.settle_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM service.settle_entries(NEW.id,
    (SELECT s.mined_cost_wei FROM service.nonce_reservation s WHERE s.intent_id = NEW.id AND s.state = 'mined'));
  RETURN NULL;
END $$;

-- Sets aside `wei` in the place of what an intent holds, in the periods of now. A scope that is `needed` has to have
-- room (MY002 names the one that has not); of the others it takes what is left.
--
-- Returns false when the intent is not as it was seen.
CREATE FUNCTION service.raise_reservation(asked uuid, seen integer, wei numeric, scopes text[], units text[],
  amounts numeric[], limits numeric[], needs boolean[]) RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  w record;
  entry service.budget_entry;
  place service.budget;
  now_period timestamptz;
  room numeric;
BEGIN
  UPDATE service.intent i SET reserved_wei = wei, version = i.version + 1 WHERE i.id = asked AND i.version = seen;
  IF NOT FOUND THEN RETURN false; END IF;
  -- In the order in which everybody takes these rows.
  FOR w IN
    SELECT * FROM unnest(scopes, units, amounts, limits, needs) AS t (scope, unit, amount, allowed, needed) ORDER BY t.scope
  LOOP
    now_period := date_trunc(w.unit, clock_timestamp());
    SELECT * INTO entry FROM service.budget_entry e WHERE e.intent_id = asked AND e.scope = w.scope FOR UPDATE;
    IF FOUND AND NOT entry.settled THEN
      UPDATE service.budget b SET reserved = b.reserved - entry.amount
        WHERE b.scope = entry.scope AND b.period = entry.period;
    END IF;
    INSERT INTO service.budget AS b (scope, period, allowed) VALUES (w.scope, now_period, w.allowed)
      ON CONFLICT (scope, period) DO UPDATE SET scope = b.scope RETURNING * INTO place;
    room := greatest(w.allowed - place.reserved - place.spent, 0);
    IF room < w.amount AND w.needed THEN
      RAISE EXCEPTION 'a spending limit has no room'
        USING ERRCODE = 'MY002', DETAIL = array_to_json(array_remove(scopes, w.scope))::text;
    END IF;
    UPDATE service.budget b SET reserved = b.reserved + least(w.amount, room),
      allowed = greatest(w.allowed, b.reserved + least(w.amount, room) + b.spent)
      WHERE b.scope = w.scope AND b.period = now_period;
    INSERT INTO service.budget_entry AS e (intent_id, scope, period, amount)
      VALUES (asked, w.scope, now_period, least(w.amount, room))
      ON CONFLICT (intent_id, scope) DO UPDATE
      SET period = excluded.period, amount = excluded.amount, settled = false, spent = 0;
  END LOOP;
  RETURN true;
END $$;
