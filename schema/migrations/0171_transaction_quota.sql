-- Deployments and updates cost gas alike, so both count in what a plan includes. Null: no limit.
ALTER TABLE service.plan
  ADD COLUMN transactions_per_day integer CHECK (transactions_per_day >= 0),
  ADD COLUMN transactions_per_month integer CHECK (transactions_per_month >= 0),
  -- Requests that may ask a chain's node or store something, whatever becomes of them: dry runs and refused ones too.
  ADD COLUMN deploy_requests_per_day integer CHECK (deploy_requests_per_day > 0),
  ADD COLUMN upload_requests_per_day integer CHECK (upload_requests_per_day > 0);
UPDATE service.plan SET transactions_per_day = 20, transactions_per_month = 100,
  deploy_requests_per_day = 500, upload_requests_per_day = 20000 WHERE tier = 'free';

-- What an account asked for since a moment, without what ended and cost nothing: it never had a nonce. A cancelled
-- request whose nonce was filled with an empty transaction did cost gas.
CREATE FUNCTION service.transactions_since(account uuid, since timestamptz) RETURNS bigint LANGUAGE sql STABLE
  SET search_path = '' AS $$
  SELECT count(*) FROM service.intent i
  WHERE i.tenant_id = account AND i.retry_number = 0 AND i.created_at >= since
    AND NOT (i.state IN ('cancelled', 'expired')
      AND NOT EXISTS (SELECT FROM service.nonce_reservation s WHERE s.intent_id = i.id))
$$;

CREATE OR REPLACE FUNCTION service.book_intent() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
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
