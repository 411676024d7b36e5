-- What a request costs is its gas. One of a free account could take 13 million of it and count once, and what free accounts
-- cost together was bounded on each chain alone.
ALTER TABLE service.plan
  -- The most gas of one deployment, of one update, and of one mint, burn or transfer for each of its tokens; null: no limit.
  ADD COLUMN deploy_gas bigint CHECK (deploy_gas > 0),
  ADD COLUMN update_gas bigint CHECK (update_gas > 0),
  ADD COLUMN token_gas bigint CHECK (token_gas > 0);
UPDATE service.plan SET deploy_gas = 3000000, update_gas = 6000000, token_gas = 500000 WHERE tier = 'free';
UPDATE service.plan SET deploy_gas = 12000000, update_gas = 12000000, token_gas = 1000000 WHERE tier IN ('growth', 'scale');

ALTER TABLE service.intent
  -- What it was found to take when it was accepted, by which it counts; null in rows of before.
  ADD COLUMN gas bigint CHECK (gas >= 0),
  -- The most that its transaction may take, by its plan; null: no limit.
  ADD COLUMN gas_ceiling bigint CHECK (gas_ceiling > 0);

-- How often a request counts: once for each half million gas that it begins.
CREATE FUNCTION service.weight_of(gas bigint) RETURNS bigint LANGUAGE sql IMMUTABLE SET search_path = '' AS $$
  SELECT greatest(1, (coalesce(gas, 1) + 499999) / 500000)
$$;

CREATE FUNCTION service.actions_of(kind text, payload jsonb, gas bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
  SET search_path = '' AS $$
  SELECT CASE WHEN kind IN ('mint', 'burn', 'transfer')
    THEN greatest(service.actions_of(kind, payload), service.weight_of(gas)) ELSE 0 END
$$;

CREATE OR REPLACE FUNCTION service.transactions_since(account uuid, since timestamptz) RETURNS bigint LANGUAGE sql STABLE
  SET search_path = '' AS $$
  SELECT coalesce(sum(service.weight_of(i.gas)), 0)::bigint FROM service.intent i
  WHERE i.tenant_id = account AND i.retry_number = 0 AND i.created_at >= since AND i.kind NOT IN ('mint', 'burn', 'transfer')
    AND NOT (i.state IN ('cancelled', 'expired')
      AND NOT EXISTS (SELECT FROM service.nonce_reservation s WHERE s.intent_id = i.id))
$$;

CREATE OR REPLACE FUNCTION service.book_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  plan service.plan;
  most integer;
  used bigint;
  is_contract boolean := NEW.kind IN ('deploy', 'contract');
  is_action boolean := NEW.kind IN ('mint', 'burn', 'transfer');
  weight bigint := service.weight_of(NEW.gas);
  -- Why one request can be more than one, and what a client can do about it that counts each token of a reveal.
  instead text := CASE WHEN weight > 1 THEN format(' (this one counts %s times, for its %s gas)', weight, NEW.gas) ELSE '' END
    || CASE WHEN NEW.kind IN ('deploy', 'contract') THEN '. Repeating the request does not help before then'
    ELSE '. Repeating the request does not help before then. Many tokens are changed by one update of their base URI' END;
BEGIN
  IF NEW.retry_number > 0 THEN RETURN NULL; END IF;
  SELECT p.* INTO plan FROM service.account a JOIN service.plan p ON p.tier = a.tier WHERE a.id = NEW.tenant_id;
  IF is_contract THEN most := plan.max_contracts; ELSIF is_action THEN most := plan.max_mints; END IF;
  IF coalesce(most, plan.transactions_per_day, plan.transactions_per_month) IS NOT NULL THEN
    -- Two requests of one account see each other.
    PERFORM FROM service.account WHERE id = NEW.tenant_id FOR NO KEY UPDATE;
  END IF;
  IF most IS NOT NULL THEN
    SELECT CASE WHEN is_contract THEN count(*) ELSE coalesce(sum(service.actions_of(i.kind, i.payload, i.gas)), 0) END
      INTO used FROM service.intent i
      WHERE i.tenant_id = NEW.tenant_id AND i.chain_id = NEW.chain_id AND i.retry_number = 0
        AND i.state NOT IN ('failed_onchain', 'cancelled', 'expired')
        AND CASE WHEN is_contract THEN i.kind IN ('deploy', 'contract') ELSE i.kind IN ('mint', 'burn', 'transfer') END;
    IF used > most THEN
      RAISE EXCEPTION 'your plan includes % % on this chain, and all are used; a growth or scale plan has more',
        most, CASE WHEN is_contract THEN 'contract deployments' ELSE 'mint, burn and transfer actions' END
        USING ERRCODE = 'MY001';
    END IF;
  END IF;
  IF NOT is_action THEN
    IF plan.transactions_per_month IS NOT NULL AND plan.transactions_per_month <
       service.transactions_since(NEW.tenant_id, date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
      RAISE EXCEPTION 'your plan includes % deployments and updates in a month, and all are used until the month ends (UTC); a growth or scale plan has more%',
        plan.transactions_per_month, instead USING ERRCODE = 'MY001';
    END IF;
    IF plan.transactions_per_day IS NOT NULL AND plan.transactions_per_day <
       service.transactions_since(NEW.tenant_id, date_trunc('day', clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC') THEN
      RAISE EXCEPTION 'your plan includes % deployments and updates in a day, and all are used until 00:00 UTC; a growth or scale plan has more%',
        plan.transactions_per_day, instead USING ERRCODE = 'MY001';
    END IF;
  END IF;
  INSERT INTO service.charge (account_id, root_id, chain_id, kind, usd_cents)
    SELECT NEW.tenant_id, NEW.root_id, NEW.chain_id, NEW.kind, p.usd_cents
    FROM service.price p WHERE p.chain_id = NEW.chain_id AND p.kind = NEW.kind
    ON CONFLICT (root_id) DO NOTHING;
  RETURN NULL;
END $$;

-- A further scope by day, in millionths of a euro: `free-eur`, what all free accounts cost together on all chains. An entry in it
-- is as many of them as the intent's reserved wei were worth, so the cost is worth as much in proportion. It is never cut to
-- what room there is: what was signed counts.
CREATE OR REPLACE FUNCTION service.settle_entries(intent uuid, cost numeric) RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
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
      WHEN entry.scope = 'free-eur' THEN coalesce(
        (SELECT ceil(cost * entry.amount / nullif(i.reserved_wei, 0)) FROM service.intent i WHERE i.id = intent), entry.amount)
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

CREATE OR REPLACE FUNCTION service.raise_reservation(asked uuid, seen integer, wei numeric, scopes text[], units text[],
  amounts numeric[], limits numeric[], needs boolean[]) RETURNS boolean LANGUAGE plpgsql SET search_path = '' AS $$
DECLARE
  w record;
  entry service.budget_entry;
  place service.budget;
  now_period timestamptz;
  room numeric;
  taken numeric;
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
    taken := CASE WHEN w.scope = 'free-eur' THEN w.amount ELSE least(w.amount, room) END;
    UPDATE service.budget b SET reserved = b.reserved + taken,
      allowed = greatest(w.allowed, b.reserved + taken + b.spent)
      WHERE b.scope = w.scope AND b.period = now_period;
    INSERT INTO service.budget_entry AS e (intent_id, scope, period, amount)
      VALUES (asked, w.scope, now_period, taken)
      ON CONFLICT (intent_id, scope) DO UPDATE
      SET period = excluded.period, amount = excluded.amount, settled = false, spent = 0;
  END LOOP;
  RETURN true;
END $$;
