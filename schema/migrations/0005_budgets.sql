-- What a request may cost and does cost: spending limits in gas, the quotas of plans, charges, and the audit of requests.

-- Spending limits hold what a transaction is likely to cost, and its signed bytes never more than that: whoever needs
-- dearer ones raises the reservation first (service.raise_reservation). A request reserves in the transaction that accepts
-- it. What it did cost replaces the reservation when it is in a block, and a reorganisation puts the reservation back.
-- Scopes in wei: `chain:<id>` and `free:<id>` by hour, `chain-day:<id>` and `free-day:<id>` by day, `tenant:<id>:<chain>`
-- by day; in transactions, by hour: `global`, `free`.
CREATE TABLE service.budget (
  scope text NOT NULL,
  period timestamptz NOT NULL,
  -- As configured when it was last used.
  allowed numeric(78, 0) NOT NULL,
  reserved numeric(78, 0) NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  spent numeric(78, 0) NOT NULL DEFAULT 0 CHECK (spent >= 0),
  PRIMARY KEY (scope, period),
  CHECK (reserved + spent <= allowed)
);

-- What one intent holds of a budget; `settled` when it was given back or spent.
CREATE TABLE service.budget_entry (
  intent_id uuid NOT NULL REFERENCES service.intent (id),
  scope text NOT NULL,
  period timestamptz NOT NULL,
  amount numeric(78, 0) NOT NULL CHECK (amount >= 0),
  settled boolean NOT NULL DEFAULT false,
  -- What was booked as spent when it was settled, so that a reorganisation can take exactly that back.
  spent numeric(78, 0) NOT NULL DEFAULT 0 CHECK (spent >= 0),
  PRIMARY KEY (intent_id, scope),
  FOREIGN KEY (scope, period) REFERENCES service.budget (scope, period)
);

-- The statement that accepts a request sets aside what it may cost; this takes all of it back when a limit had no room.
-- One statement, because everybody who spends from the same limits waits from its end to the commit.
CREATE FUNCTION service.require_limits(wanted bigint, kept text[]) RETURNS text[] LANGUAGE plpgsql
  SET search_path = '' AS $$
BEGIN
  IF coalesce(cardinality(kept), 0) < wanted THEN
    RAISE EXCEPTION 'a spending limit has no room'
      USING ERRCODE = 'MY002', DETAIL = array_to_json(coalesce(kept, '{}'))::text;
  END IF;
  RETURN kept;
END $$;

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

-- What ends without a block gives back all of it. Here and not in a process: whoever moves the intent, by whatever
-- statement, the books stay right.
CREATE FUNCTION service.settle_budget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM service.settle_entries(NEW.id,
    (SELECT s.mined_cost_wei FROM service.nonce_reservation s WHERE s.intent_id = NEW.id AND s.state = 'mined'));
  RETURN NULL;
END $$;
CREATE TRIGGER intent_settle AFTER UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (NEW.state IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried') AND OLD.state <> NEW.state)
  EXECUTE FUNCTION service.settle_budget();

-- Sets aside `wei` instead of what an intent holds, in the periods of now. A scope that is `needed` has to have room (MY002
-- names the one that has not); of the others it takes what is left.
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

-- What an account asked for since a moment, without what ended and cost nothing: it never had a nonce. A cancelled
-- request whose nonce was filled with an empty transaction did cost gas.
CREATE FUNCTION service.transactions_since(account uuid, since timestamptz) RETURNS bigint LANGUAGE sql STABLE
  SET search_path = '' AS $$
  SELECT count(*) FROM service.intent i
  WHERE i.tenant_id = account AND i.retry_number = 0 AND i.created_at >= since
    AND NOT (i.state IN ('cancelled', 'expired')
      AND NOT EXISTS (SELECT FROM service.nonce_reservation s WHERE s.intent_id = i.id))
$$;

-- Quota and charge belong to the transaction that accepts a request, whoever accepts it: a process that counted first and
-- inserted later would let two requests through one last place.
CREATE FUNCTION service.book_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  plan service.plan;
  most integer;
  used bigint;
  is_contract boolean := NEW.kind = 'deploy';
BEGIN
  IF NEW.retry_number > 0 THEN RETURN NULL; END IF;
  SELECT p.* INTO plan FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.tenant_id;
  IF NEW.kind <> 'update' THEN
    most := CASE WHEN is_contract THEN plan.max_contracts ELSE plan.max_mints END;
  END IF;
  IF coalesce(most, plan.transactions_per_day, plan.transactions_per_month) IS NOT NULL THEN
    -- Two requests of one account see each other.
    PERFORM FROM service.account WHERE id = NEW.tenant_id FOR NO KEY UPDATE;
  END IF;
  IF most IS NOT NULL THEN
    SELECT count(*) INTO used FROM service.intent i
      WHERE i.tenant_id = NEW.tenant_id AND i.chain_id = NEW.chain_id AND i.retry_number = 0 AND i.kind <> 'update'
        AND (i.kind = 'deploy') = is_contract AND i.state NOT IN ('failed_onchain', 'cancelled', 'expired');
    IF used > most THEN
      RAISE EXCEPTION 'your plan includes % % on this chain, and all are used; a growth or scale plan has more',
        most, CASE WHEN is_contract THEN 'contract deployments' ELSE 'mint, burn and transfer actions' END
        USING ERRCODE = 'MY001';
    END IF;
  END IF;
  IF plan.transactions_per_month IS NOT NULL AND plan.transactions_per_month <
     service.transactions_since(NEW.tenant_id, date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
    RAISE EXCEPTION 'your plan includes % deployments and updates in a month, and all are used; a growth or scale plan has more',
      plan.transactions_per_month USING ERRCODE = 'MY001';
  END IF;
  IF plan.transactions_per_day IS NOT NULL AND plan.transactions_per_day <
     service.transactions_since(NEW.tenant_id, date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
    RAISE EXCEPTION 'your plan includes % deployments and updates in a day (UTC), and all are used; try again tomorrow',
      plan.transactions_per_day USING ERRCODE = 'MY001';
  END IF;
  INSERT INTO service.charge (account_id, root_id, chain_id, kind, usd_cents)
    SELECT NEW.tenant_id, NEW.root_id, NEW.chain_id, NEW.kind, p.usd_cents
    FROM service.price p WHERE p.chain_id = NEW.chain_id AND p.kind = NEW.kind
    ON CONFLICT (root_id) DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER intent_book AFTER INSERT ON service.intent FOR EACH ROW EXECUTE FUNCTION service.book_intent();

CREATE FUNCTION service.unbook_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE service.charge SET state = CASE state WHEN 'open' THEN 'void' ELSE 'refund_due' END
    WHERE root_id = NEW.root_id AND state IN ('open', 'settled');
  RETURN NULL;
END $$;
CREATE TRIGGER intent_unbook AFTER UPDATE OF state ON service.intent FOR EACH ROW
  WHEN (OLD.state IS DISTINCT FROM NEW.state AND NEW.state IN ('failed_onchain', 'cancelled', 'expired'))
  EXECUTE FUNCTION service.unbook_intent();

CREATE FUNCTION service.audit_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  INSERT INTO service.audit_log (actor, action, object, after) VALUES
    ('account:' || NEW.tenant_id, NEW.kind, 'intent:' || NEW.id,
     jsonb_build_object('chain_id', NEW.chain_id, 'predicted', encode(NEW.predicted_addr, 'hex')));
  RETURN NULL;
END $$;
CREATE TRIGGER intent_audit AFTER INSERT ON service.intent FOR EACH ROW EXECUTE FUNCTION service.audit_intent();
